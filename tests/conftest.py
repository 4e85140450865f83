"""Real servers for the tests: Postgres and Valkey of our own, an API on gunicorn, workers as processes.

One Postgres and one Valkey serve a test worker; every test (or module, for `api`) has a database and a queue of its
own (places.py).
"""

import asyncio
import gc
import inspect
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import prefork
import psycopg
import pytest
from databases import Databases
from harness import Api, OwnValkey, Place, Program, StartWorker, services_of
from places import Places

from app.embedded import EmbeddedServers, ServerUrls
from app.store.migrate import upgrade
from app.usecases.services import Services

pytest_plugins = ("repetition",)
# A time limit for examples would fail wherever the machine is busy.
hypothesis.settings.register_profile("tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("tests")
# The themes are long (browser/looks.py), and so are tests that look with axe (browser/conftest.py).
HAS_LONG = re.compile(r"\bmark\.long\b|\bTHEMES_AND_WINDOWS\b|\bassert_accessible\b")
IS_ALL_LONG = re.compile(r"^pytestmark = .*\bpytest\.mark\.long\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests that are marked long, and no others")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of which nothing would be kept is not even imported: every test worker would."""
    if collection_path.suffix != ".py" or collection_path in _named(config):
        return None
    text = collection_path.read_text()
    is_ignored = HAS_LONG.search(text) is None if config.getoption("--long") else IS_ALL_LONG.search(text) is not None
    return True if is_ignored else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --long the long tests alone; without it the others, and a file that is named whole."""
    only_long = config.getoption("--long")
    named = _named(config)
    kept = [item for item in items if _is_long(item) == only_long or (item.path in named and not only_long)]
    left = set(items) - set(kept)
    config.hook.pytest_deselected(items=list(left))
    items[:] = kept


def _is_long(item: pytest.Item) -> bool:
    return item.get_closest_marker("long") is not None or "assert_accessible" in getattr(item, "fixturenames", ())


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector need not look at it a thousand times."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a coroutine test on an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


def _named(config: pytest.Config) -> set[Path]:
    return {(config.invocation_params.dir / arg.split("::")[0]).resolve() for arg in config.args if ".py" in arg}


@pytest.fixture(scope="session", autouse=True)
def _templates_end_with_the_tests() -> Iterator[None]:
    yield
    prefork.end_templates()


@pytest.fixture(scope="session", autouse=True)
def _settings_come_from_the_tests_alone() -> Iterator[None]:
    """A developer's DEBATE_… variables must not change what is tested."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("DEBATE_")}
    yield
    os.environ.update(kept)


@contextmanager
def _own_or_given(directory: Path) -> Iterator[ServerUrls]:
    """The embedded servers, or empty ones of another version: TEST_DATABASE_URL (`postgresql://…/debate?…`, a
    superuser's) and TEST_REDIS_URL (`…?db=0`)."""
    if "TEST_DATABASE_URL" in os.environ:
        yield ServerUrls(os.environ["TEST_DATABASE_URL"], os.environ["TEST_REDIS_URL"])
    else:
        with EmbeddedServers(directory) as urls:
            yield urls


@pytest.fixture(scope="session")
def servers() -> Iterator[ServerUrls]:
    directory = Path(tempfile.mkdtemp(prefix="debate-tests-"))
    try:
        with _own_or_given(directory) as urls:
            upgrade(urls.database_url)
            with psycopg.connect(urls.database_url, autocommit=True) as connection:
                # The tests kill processes, never the machine's power: no commit needs to wait for the disk. Hundreds of
                # databases, each of them used for seconds, are not worth a vacuum.
                for setting in ("fsync", "full_page_writes", "autovacuum"):
                    connection.execute(f"ALTER SYSTEM SET {setting} = off")
                connection.execute("SELECT pg_reload_conf()")
            yield urls
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def places(servers: ServerUrls) -> Iterator[Places]:
    databases = Databases(servers)
    made = Places(servers, databases)
    yield made
    made.end()
    databases.close()


@pytest.fixture(scope="session")
def make_place(places: Places) -> Callable[[], Place]:
    return places.make


def _place(places: Places) -> Iterator[Place]:
    taken = places.take()
    yield taken
    places.give_back(taken)


place = pytest.fixture(_place, name="place")
module_place = pytest.fixture(_place, name="module_place", scope="module")


@pytest.fixture
def services(place: Place) -> Iterator[Services]:
    with services_of(place.settings, 40) as built:
        yield built


@pytest.fixture(scope="module")
def api(module_place: Place) -> Api:
    """One API for a whole module, with no worker: nothing happens to a debate but what the test does. The modules that
    follow use it too, where they want the same."""
    return module_place.start_api()


@pytest.fixture
def stage(place: Place) -> Iterator[tuple[Place, OwnValkey]]:
    """With a Valkey of its own, for these tests stop it and throw its contents away."""
    directory = Path(tempfile.mkdtemp(prefix="debate-valkey-"))
    valkey = OwnValkey(directory)
    valkey.start()
    made = Place(place.settings.with_changes(redis_url=valkey.url))
    yield made, valkey
    made.end_programs()
    valkey.stop()
    shutil.rmtree(directory)


@pytest.fixture
def start_worker(module_place: Place) -> Iterator[StartWorker]:
    """Workers that are gone when the test is over: the next one wants its debate to itself."""
    started = []

    def start(armed: str = "") -> Program:
        started.append(module_place.start_worker(failpoints=armed))
        return started[-1]

    yield start
    for worker in started:
        worker.terminate()
    for worker in started:
        worker.wait(60)
