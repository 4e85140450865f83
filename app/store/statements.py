"""Frequent statements, run by psycopg: SQLAlchemy's overhead costs more than the statement itself."""

import re
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.rows import RowFactory, tuple_row
from sqlalchemy import CompoundSelect, Connection, Select, func, select
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from app.store.engine import Engine


def count(connection: Connection, query: Select[Any], at_most: int | None = None) -> int:
    """How many rows there are. Stops at the limit."""
    return connection.execute(select(func.count()).select_from(query.limit(at_most).subquery())).scalar_one()


class Prepared:
    """A statement in SQL, which each connection plans once.

    psycopg parses the parameters of a long statement at each run, which took a quarter of the API's CPU. So they are
    parsed once, and psycopg gets Postgres' own numbers.
    """

    def __init__(self, sql: str) -> None:
        self.sql = sql
        """As psycopg and SQLAlchemy take it: `%(name)s` for parameters, `%%` for a per cent sign."""
        self.names = tuple(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql)))
        numbers = {f"%({name})s": f"${number}" for number, name in enumerate(self.names, 1)}
        self.numbered = re.sub(r"%%|%\(\w+\)s", lambda found: numbers.get(found[0], "%"), sql)

    def run(
        self,
        connection: "psycopg.Connection[Any]",
        parameters: Mapping[str, Any],
        row_factory: RowFactory[Any] = tuple_row,
    ) -> "psycopg.Cursor[Any]":
        cursor = psycopg.RawCursor(connection, row_factory=row_factory)
        return cursor.execute(self.numbered, [parameters[name] for name in self.names], prepare=True)


DIALECT = PGDialect_psycopg()  # type: ignore[no-untyped-call]


class Statement:
    """A query of SQLAlchemy's, compiled once."""

    def __init__(
        self, query: Select[Any] | CompoundSelect[Any], prefix: str = "", planned_each_time: bool = False
    ) -> None:
        compiled = query.compile(dialect=DIALECT)
        self._sql = prefix + str(compiled)
        self._constants = compiled.params
        # By default psycopg prepares frequent statements, and Postgres may then keep one plan for all parameters.
        self._prepare = False if planned_each_time else None

    def rows(self, engine: Engine, **parameters: Any) -> list[tuple[Any, ...]]:
        """In a separate transaction: one round trip to Postgres."""
        with engine.autocommit() as connection:
            return self.rows_on(connection, **parameters)

    def rows_on(self, connection: "psycopg.Connection[Any]", **parameters: Any) -> list[tuple[Any, ...]]:
        return connection.execute(self._sql, {**self._constants, **parameters}, prepare=self._prepare).fetchall()
