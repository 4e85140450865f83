"""Changes rows, for the verbs of the other files."""

from typing import Any

from harness import Place
from psycopg.sql import SQL, Identifier


def change(place: Place, table: str, assignments: str, *values: Any, where: str = "true") -> None:
    """The placeholders of `assignments` come before those of `where`."""
    statement = SQL("UPDATE {} SET {} WHERE {}").format(Identifier(table), SQL(assignments), SQL(where))
    place.session().execute(statement, values)


def insert(place: Place, table: str, **values: Any) -> None:
    """Text goes into columns of every type: Postgres reads it as theirs."""
    columns = SQL(", ").join(map(Identifier, values))
    placeholders = SQL(", ").join([SQL("%s")] * len(values))
    statement = SQL("INSERT INTO {} ({}) VALUES ({})").format(Identifier(table), columns, placeholders)
    place.session().execute(statement, list(values.values()))
