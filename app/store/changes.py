"""Which debates changed lately, for watchers of all of them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, select

from app.store.tables import debates


@dataclass(frozen=True, slots=True)
class Changed:
    id: UUID
    updated_at: datetime
    turn_count: int
    status: str
    attempts: int


def now(connection: Connection) -> datetime:
    """By the database's clock, which is everybody's."""
    moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return moment


def changed_since(connection: Connection, since: datetime, at_most: int) -> list[Changed]:
    """The newest first: when there are too many to tell them all, the oldest are left out."""
    columns = (debates.c.id, debates.c.updated_at, debates.c.turn_count, debates.c.status, debates.c.attempts)
    newest = select(*columns).where(debates.c.updated_at > since).order_by(debates.c.updated_at.desc()).limit(at_most)
    return [Changed(*row) for row in connection.execute(newest)]
