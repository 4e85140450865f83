"""Every command of README.md, the tutorial and the first experiment, run in order as it stands there, with a checkout,
an empty home directory, and no server yet.

A block that cannot be run says so, with the reason, in a comment before it; one that stays says that too. What the
tutorial repeats from README.md is not run twice. A Python block is run as a program.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import REPOSITORY
from model_server import ModelServer

from app.cli.stack import free_port

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not shutil.which("curl"), reason="README.md uses curl"),
]
PAGES = ("README.md", "docs/tutorial.md", "docs/first-experiment.md")
IN_A_CHECKOUT = (
    "app",
    "debate_client",
    "docs",
    "migrations",
    "scripts",
    "worker",
    "requirements.lock",
    "requirements-dev.lock",
)
BLOCK = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DRAWN = "mermaid"
BACKGROUND = "runs in the background"
NOT_RUN = "not run here: "
MARK = "@@@ "


Said = list[tuple[str, str]]
"""The commands of each block, and what they printed."""


@dataclass(frozen=True)
class Block:
    page: str
    mark: str
    language: str
    commands: str

    @property
    def bare(self) -> str:
        """Without remarks."""
        if self.language == "python":
            return self.commands.strip()
        return re.sub(r"\s+# .*", "", self.commands).strip()


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        for mark, language, commands in BLOCK.findall((REPOSITORY / page).read_text()):
            if language != DRAWN:
                assert language in ("sh", "python"), f"{page}: a block of {language or 'no language'} would not be run"
                found.append(Block(page, mark, language, commands))
    return found


def script(port: int) -> str:
    lines = ["set -eu"]
    seen: set[str] = set()
    for number, block in enumerate(blocks()):
        if block.mark.startswith(NOT_RUN) or block.bare in seen:
            continue
        seen.add(block.bare)
        lines.append(f"echo '{MARK}{number}'")
        if block.mark == BACKGROUND:
            lines.append(f"{block.bare} > up.log 2>&1 & up=$!; trap 'kill $up; wait $up' EXIT")
            lines.append(
                f"until curl -sf localhost:{port}/ready | grep -q '\"workers\":1'; do kill -0 $up; sleep 0.3; done"
            )
            lines.append(f"export DEBATE_SERVER_URL=http://localhost:{port}")
        elif block.language == "python":
            lines.append(f"cat > example.py <<'END'\n{block.commands}END")
            lines.append(f"'{sys.executable}' example.py")
        else:
            lines.append(
                block.commands.replace("localhost:3456", f"localhost:{port}").replace("_KEY=…", "_KEY=some-key")
            )
    return "\n".join(lines)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("checkout")
    for name in IN_A_CHECKOUT:
        (directory / name).symlink_to(REPOSITORY / name)
    (directory / ".venv").symlink_to(sys.prefix)
    return directory


@pytest.fixture(scope="module")
def said(checkout: Path) -> Said:
    port = free_port("127.0.0.1")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DEBATE_", "XDG_"))}
    with ModelServer() as models:
        environment = {
            **inherited,
            **models.environment,
            "HOME": str(checkout),
            "DEBATE_SERVER_PORT": str(port),
            "DEBATE_ENVIRONMENT": sys.prefix,
            "NO_PROXY": "localhost,127.0.0.1",
        }
        with (checkout / "out").open("w+") as output:
            shell = subprocess.Popen(
                ["/bin/sh", "-c", script(port)],
                cwd=checkout,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = shell.wait(560)
            finally:
                if shell.poll() is None:
                    os.killpg(shell.pid, signal.SIGTERM)
                    shell.wait()
            printed = (checkout / "out").read_text()
    assert code == 0, printed
    parts = re.split(rf"^{MARK}(\d+)\n", printed, flags=re.MULTILINE)[1:]
    numbered = blocks()
    return [(numbered[int(number)].bare, text) for number, text in zip(parts[::2], parts[1::2], strict=True)]


def printed_by(said: Said, begins: str) -> list[str]:
    """What the blocks that begin so have printed."""
    found = [text for commands, text in said if commands.startswith(begins)]
    assert found, f"no block begins with {begins}"
    return found


def test_every_mark_is_understood_and_every_exception_has_a_reason() -> None:
    for block in blocks():
        assert block.mark in ("", BACKGROUND) or re.fullmatch(rf"{NOT_RUN}\w.{{20,}}", block.mark), block


def test_what_cannot_be_run_here_names_commands_that_there_are() -> None:
    for block in blocks():
        if block.mark.startswith(NOT_RUN):
            program, *_ = block.bare.split()
            assert os.access(REPOSITORY / program, os.X_OK), block
            assert all((REPOSITORY / path).exists() for path in re.findall(r"tests/\S+\.py", block.mark)), block


def test_every_block_was_run(said: Said) -> None:
    wanted = {block.bare for block in blocks() if not block.mark.startswith(NOT_RUN)}
    assert {commands for commands, _ in said} == wanted


@pytest.mark.parametrize(
    "begins", ['./scripts/debate run "Cities', './scripts/debate run "Meetings', "export OPENAI_API_KEY"]
)
def test_debates_are_held_to_their_verdicts(said: Said, begins: str) -> None:
    for output in printed_by(said, begins):
        assert "Verdict" in output
        assert "The debate is completed: all rounds finished." in output


def test_the_tutorials_reader_argues_and_rules(said: Said, checkout: Path) -> None:
    [followed] = printed_by(said, "./scripts/debate watch")
    assert "Younger pupils learn to read at home as well." in followed
    assert "The debate is completed: a ruling closed it." in followed
    exported = (checkout / "debate.md").read_text()
    assert "Practice needs time" in exported
    assert "The last point was not answered." in exported


def test_the_program_of_the_tutorial_argues_to_the_end(said: Said) -> None:
    *_, printed = printed_by(said, "id=")
    assert printed.rstrip().endswith("opponent: the debate is closed")


def test_the_example_in_python_prints_every_turn_and_the_verdict(said: Said) -> None:
    [printed] = printed_by(said, "from debate_client import Client")
    turns = re.findall(r"^(\d)\. (\w+) \(\w+\)", printed, re.MULTILINE)
    assert turns == [("1", "proposer"), ("2", "proposer"), ("3", "opponent"), ("4", "arbitrator")]
    assert re.fullmatch(r"(proposer|opponent|tie) \{.*\}", printed.splitlines()[-1])


def test_the_experiment_has_results_and_a_report(said: Said, checkout: Path) -> None:
    [ran] = printed_by(said, "./scripts/debate experiment init")
    [results] = printed_by(said, "./scripts/debate experiment results demo")
    for printed in (ran, results, (checkout / "report.html").read_text()):
        assert all(name in printed for name in ("strong", "middling", "weak", "hasty"))
    assert len((checkout / "judgments.csv").read_text().splitlines()) == 241


def test_the_request_of_the_readme_makes_a_debate(said: Said) -> None:
    [answered] = printed_by(said, "curl")
    created, _ = json.JSONDecoder().raw_decode(answered)
    assert created["data"]["debate"]["title"] == "Cars"
