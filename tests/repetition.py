"""A plugin of pytest: failed tests run 20 times, concurrently with themselves and with the others of their files.

Races, and state that leaks from test to test, show there. They do not show where a test runs alone.
"""

import json
import re
from pathlib import Path

import pytest

TIMES = 20
MOST_UNSTABLE = 2
"""More unstable tests fail the run."""
KNOWN = "tests/unstable.md"
_NUMBER = re.compile(r"(?:\[|-)repetition\d+\]$")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failures-to", type=Path, metavar="FILE", help="write the failed tests, and how they failed")
    parser.addoption("--again", type=Path, metavar="FILE", help=f"run the tests of such a file {TIMES} times")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(config), "failures")


@pytest.fixture
def repetition() -> None:
    """Its parameter numbers the repetitions of a test."""


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    # The last parameter, so that the names of the others stay as they are.
    if metafunc.config.getoption("--again"):
        metafunc.fixturenames.append("repetition")
        ids = [f"repetition{number}" for number in range(TIMES)]
        metafunc.parametrize("repetition", range(TIMES), indirect=True, ids=ids)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps each repetition of the failed tests, and the other tests of their files once."""
    if not config.getoption("--again"):
        return
    failed = _read(config)
    files = {name.partition("::")[0] for name in failed}
    kept = [
        item
        for item in items
        if _is_one_of(name_of(item.nodeid), failed)
        or (item.nodeid.partition("::")[0] in files and item.nodeid.endswith("repetition0]"))
    ]
    config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = kept


def name_of(nodeid: str) -> str:
    """Without the number of the repetition."""
    return _NUMBER.sub(lambda found: "]" if found[0].startswith("-") else "", nodeid)


def _is_one_of(name: str, failed: dict[str, str]) -> bool:
    return name in failed or name.partition("[")[0] in failed


def _read(config: pytest.Config) -> dict[str, str]:
    found: dict[str, str] = json.loads(config.getoption("--again").read_text())
    return found


class _Report:
    """In the process that hears of every test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failed: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.setdefault(name_of(report.nodeid), report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failed.setdefault(report.nodeid, report.longreprtext)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if file := self._config.getoption("--failures-to"):
            file.write_text(json.dumps(self._failed))
        if self._config.getoption("--again") and not self._failed and len(_read(self._config)) > MOST_UNSTABLE:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._config.getoption("--again") or self._failed:
            return
        failed = _read(self._config)
        known = (self._config.rootpath / KNOWN).read_text()
        for name, output in failed.items():
            terminalreporter.section(f"unstable: {name}" if output else name)
            terminalreporter.line(output)
            listed = f"; {KNOWN} lists it" if f"`{name}`" in known else ""
            terminalreporter.line(f"{name} passed {TIMES} times{listed}.")
        if len(failed) > MOST_UNSTABLE:
            terminalreporter.line(f"{len(failed)} tests are unstable: more than {MOST_UNSTABLE} fail the run.")
