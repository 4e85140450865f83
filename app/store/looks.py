"""Statements that are asked often, spoken in psycopg's own words: SQLAlchemy's share of asking one costs more than the
statement. Each is a transaction, and one trip to Postgres."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import Select
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from app.store.engine import Engine, ServerOnlyReads


class Look:
    """A query as psycopg takes it. Made once: putting it into words is what costs."""

    def __init__(self, query: Select[Any], before: str = "", planned_each_time: bool = False) -> None:
        compiled = query.compile(dialect=PGDialect_psycopg())  # type: ignore[no-untyped-call]
        self._words = before + str(compiled)
        self._constants = compiled.params
        # Otherwise psycopg prepares what it is asked often, and Postgres may keep one plan for all parameters.
        self._prepare = False if planned_each_time else None

    def asked(self, **parameters: Any) -> tuple[str, dict[str, Any]]:
        """The words and their parameters."""
        return self._words, {**self._constants, **parameters}

    def rows(self, engine: Engine, **parameters: Any) -> list[tuple[Any, ...]]:
        with autocommit(engine) as connection:
            return self.rows_on(connection, **parameters)

    def rows_on(self, connection: "psycopg.Connection[Any]", **parameters: Any) -> list[tuple[Any, ...]]:
        """For whoever asks several things, one after another."""
        return connection.execute(*self.asked(**parameters), prepare=self._prepare).fetchall()


class Guess:
    """How many rows the planner expects of a query. It goes by statistics that Postgres gathers once a minute at the
    most, so it is remembered for a while."""

    REMEMBERED_SECONDS = 10

    def __init__(self, query: Select[Any]) -> None:
        self._plan = Look(query, "EXPLAIN (FORMAT JSON) ")
        self._rows = 0
        self._forgotten_at = 0.0

    def on(self, connection: "psycopg.Connection[Any]") -> int:
        now = time.monotonic()
        if now >= self._forgotten_at:
            [(plan,)] = self._plan.rows_on(connection)
            self._rows = int(plan[0]["Plan"]["Plan Rows"])
            self._forgotten_at = now + self.REMEMBERED_SECONDS
        return self._rows


@contextmanager
def autocommit(engine: Engine) -> Iterator["psycopg.Connection[Any]"]:
    """A connection of the pool on which a statement is a transaction. It stays so until somebody wants a transaction of
    it: switching costs no trip to the server, but as much as a small statement."""
    with borrowed(engine) as connection:
        if not connection.autocommit:
            connection.autocommit = True
        yield connection


@contextmanager
def borrowed(engine: Engine) -> Iterator["psycopg.Connection[Any]"]:
    """A connection of the pool, in whatever mode it is. What breaks off on it leaves nothing to the next one."""
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
