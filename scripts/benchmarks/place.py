"""A Postgres and a Valkey for one part, as the product brings them: fsync and synchronous_commit stay on."""

import itertools
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from app.embedded import EmbeddedServers
from app.settings import Settings
from app.store.migrate import upgrade

_shared: list[Settings] = []
_numbers = itertools.count(1)
_queues = itertools.cycle(range(1, 16))
"""Valkey has 16 databases; whoever had a number before has ended when it comes round again."""


@contextmanager
def shared_servers() -> Iterator[None]:
    """Meanwhile `own_servers` gives each part its own database and queue on one pair of servers. Only for quick
    runs: what an earlier part left in Postgres' memory changes a later one's figures."""
    with own_servers() as settings:
        _shared.append(settings)
        try:
            yield
        finally:
            _shared.clear()


@contextmanager
def own_servers(**changes: Any) -> Iterator[Settings]:
    if _shared:
        yield another_queue(another_database(_shared[0], f"part_{next(_numbers)}")).with_changes(**changes)
        return
    directory = Path(tempfile.mkdtemp(prefix="debate-bench-"))
    try:
        with EmbeddedServers(directory) as urls:
            upgrade(urls.database_url)
            yield Settings(database_url=urls.database_url, redis_url=urls.redis_url, data_dir=directory, **changes)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def sql(settings: Settings, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(str(settings.database_url), autocommit=True) as connection:
        found = connection.execute(statement, parameters)  # type: ignore[call-overload]
        return found.fetchall() if found.description else []


def another_database(settings: Settings, name: str) -> Settings:
    """A separate database on the same server."""
    sql(settings, f"CREATE DATABASE {name}")
    other = settings.with_changes(database_url=re.sub(r"/\w+\?", f"/{name}?", str(settings.database_url)))
    upgrade(str(other.database_url))
    return other


def another_queue(settings: Settings) -> Settings:
    """On the same Valkey."""
    return settings.with_changes(redis_url=re.sub(r"db=\d+$", f"db={next(_queues)}", str(settings.redis_url)))


def postgres_pid(settings: Settings) -> int:
    """Of the server itself; every connection is a child of it."""
    return int((settings.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
