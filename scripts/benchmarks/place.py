"""A Postgres and a Valkey for one part, as the product brings them: fsync and synchronous_commit stay on."""

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


@contextmanager
def own_servers(**changes: Any) -> Iterator[Settings]:
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
    """On the same server, with tables of its own."""
    sql(settings, f"CREATE DATABASE {name}")
    other = settings.with_changes(database_url=str(settings.database_url).replace("/debate?", f"/{name}?"))
    upgrade(str(other.database_url))
    return other


def postgres_pid(settings: Settings) -> int:
    """Of the server itself; every connection is a child of it."""
    return int((settings.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
