"""Custom prompt sets. A name means its last version; debates keep the version of their creation."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import distinct_on, insert

from app.core.prompt_sets import PromptSet
from app.store.tables import prompt_sets

_now = func.clock_timestamp()


def add(connection: Connection, given: PromptSet) -> None:
    values = {"name": given.name, "hash": given.hash, "base": given.base, "files": dict(given.files)}
    statement = insert(prompt_sets).values(**values, added_at=_now)
    connection.execute(statement.on_conflict_do_update(index_elements=["name", "hash"], set_={"added_at": _now}))


def latest(connection: Connection) -> list[tuple[PromptSet, datetime]]:
    """What each name means now, by name."""
    newest = select(prompt_sets).ext(distinct_on(prompt_sets.c.name))
    statement = newest.order_by(prompt_sets.c.name, prompt_sets.c.added_at.desc())
    return [(_set_of(row), row.added_at) for row in connection.execute(statement)]


def named(connection: Connection, name: str) -> PromptSet | None:
    statement = select(prompt_sets).where(prompt_sets.c.name == name).order_by(prompt_sets.c.added_at.desc()).limit(1)
    row = connection.execute(statement).one_or_none()
    return _set_of(row) if row else None


def of_hash(connection: Connection, hash_: str) -> PromptSet | None:
    row = connection.execute(select(prompt_sets).where(prompt_sets.c.hash == hash_).limit(1)).one_or_none()
    return _set_of(row) if row else None


def _set_of(row: Any) -> PromptSet:
    return PromptSet(row.name, row.hash, row.base, row.files)
