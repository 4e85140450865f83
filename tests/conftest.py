"""Real servers for the tests: Postgres and Valkey of our own, an API on gunicorn, workers as processes.

One Postgres and one Valkey serve the whole run; every test (or module, for `api`) has a database and a queue of its
own.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis
from harness import Api, OwnValkey, Place, numbers

from app.bootstrap import build_services, close_services
from app.embedded import EmbeddedServers, ServerUrls
from app.settings import Settings
from app.store.migrate import upgrade
from app.usecases.services import Services


@pytest.fixture(scope="session", autouse=True)
def _settings_come_from_the_tests_alone() -> Iterator[None]:
    """A developer's DEBATE_… variables must not change what is tested."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("DEBATE_")}
    yield
    os.environ.update(kept)


@pytest.fixture(scope="session")
def servers() -> Iterator[ServerUrls]:
    directory = Path(tempfile.mkdtemp(prefix="debate-tests-"))
    try:
        with EmbeddedServers(directory) as urls:
            upgrade(urls.database_url)
            with psycopg.connect(urls.database_url, autocommit=True) as connection:
                # The tests kill processes, never the machine's power: no commit needs to wait for the disk.
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
            yield urls
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def make_place(servers: ServerUrls) -> Callable[[], Place]:
    def make() -> Place:
        number = next(numbers)
        name = f"test_{number}"
        with psycopg.connect(servers.database_url.replace("/debate?", "/postgres?"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE debate")
        # Valkey has 16 databases; nothing of an earlier test is alive when its number comes round again.
        redis_url = servers.redis_url.replace("db=0", f"db={number % 16}")
        redis.Redis.from_url(redis_url).flushdb()
        settings = Settings(
            database_url=servers.database_url.replace("/debate?", f"/{name}?"), redis_url=redis_url, claim_seconds=3
        )
        return Place(settings)

    return make


@pytest.fixture
def place(make_place: Callable[[], Place]) -> Iterator[Place]:
    made = make_place()
    yield made
    made.end_programs()


@pytest.fixture
def services(place: Place) -> Iterator[Services]:
    """For tests that call use cases directly, as a process of ours would."""
    built = build_services(place.settings, name="tests", database_connections=40)
    yield built
    close_services(built)


@pytest.fixture(scope="module")
def module_place(make_place: Callable[[], Place]) -> Iterator[Place]:
    made = make_place()
    yield made
    made.end_programs()


@pytest.fixture(scope="module")
def api(module_place: Place) -> Api:
    """One API for a whole module, with no worker: nothing happens to a debate but what the test does."""
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
