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

    def rows(self, engine: Engine, **parameters: Any) -> list[tuple[Any, ...]]:
        with autocommit(engine) as connection:
            return connection.execute(self._words, {**self._constants, **parameters}).fetchall()


@contextmanager
def autocommit(engine: Engine) -> Iterator["psycopg.Connection[Any]"]:
    """A connection of the pool on which a statement is a transaction. It stays so until somebody wants a transaction of
    it (`app.store.engine`): switching costs no trip to the server, but as much as a small statement."""
    pooled = engine.raw_connection()
    connection = pooled.driver_connection
    assert isinstance(connection, psycopg.Connection)  # noqa: S101 (the engine's dialect)
    try:
        if not connection.autocommit:
            connection.autocommit = True
        yield connection
    except psycopg.errors.UniqueViolation:
        raise
    except BaseException as problem:
        lost = connection.closed or isinstance(problem, ServerOnlyReads)
        pooled.invalidate()
        if lost:
            # Postgres went away, and the rest of the pool with it: as SQLAlchemy does, make all of it anew.
            engine.dispose()
        raise
    finally:
        pooled.close()
