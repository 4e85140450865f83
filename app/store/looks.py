"""Statements that are asked often, spoken in psycopg's own words: SQLAlchemy's share of asking one costs more than the
statement. Each is a transaction, and one trip to Postgres."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import Select
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from app.store.engine import Engine, ServerOnlyReads


class Look:
    """A query as psycopg takes it. Made once: putting it into words is what costs."""

    def __init__(self, query: Select[Any]) -> None:
        compiled = query.compile(dialect=PGDialect_psycopg())  # type: ignore[no-untyped-call]
        self._words = str(compiled)
        self._constants = compiled.params

    def asked(self, **parameters: Any) -> tuple[str, dict[str, Any]]:
        """The words and their parameters."""
        return self._words, {**self._constants, **parameters}

    def rows(self, engine: Engine, **parameters: Any) -> list[tuple[Any, ...]]:
        with autocommit(engine) as connection:
            return connection.execute(*self.asked(**parameters)).fetchall()


@contextmanager
def autocommit(engine: Engine) -> Iterator["psycopg.Connection[Any]"]:
    """A connection of the pool on which a statement is a transaction. Switching costs no trip to the server."""
    with borrowed(engine) as connection:
        connection.autocommit = True
        yield connection
        connection.autocommit = False


@contextmanager
def borrowed(engine: Engine) -> Iterator["psycopg.Connection[Any]"]:
    """A connection of the pool. What breaks off on it leaves nothing to the next one."""
    pooled = engine.raw_connection()
    connection = pooled.driver_connection
    assert isinstance(connection, psycopg.Connection)  # noqa: S101 (the engine's dialect)
    try:
        yield connection
    except BaseException as problem:
        lost = connection.closed or isinstance(problem, ServerOnlyReads)
        pooled.invalidate()
        if lost:
            # Postgres went away, and the rest of the pool with it: as SQLAlchemy does, make all of it anew.
            engine.dispose()
        raise
    finally:
        pooled.close()
