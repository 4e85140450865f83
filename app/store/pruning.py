"""Old debates: counted, and deleted a few at a time."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection, Select, delete, func, select

from app.core.debate import ENDED_STATUSES
from app.store.tables import debates


@dataclass(frozen=True, slots=True)
class Counted:
    debates: int
    turns: int


def moment_before(connection: Connection, age: timedelta) -> datetime:
    """By the database's clock, which wrote the times that are compared with it."""
    moment: datetime = connection.execute(select(func.now() - age)).scalar_one()
    return moment


def count_ended(connection: Connection, before: datetime) -> Counted:
    old = _ended(before).subquery()
    statement = select(func.count(), func.coalesce(func.sum(old.c.turn_count), 0)).select_from(old)
    return Counted(*connection.execute(statement).one())


def delete_ended(connection: Connection, before: datetime, at_most: int) -> dict[UUID, int]:
    """The ids of those that were deleted, with how many turns went with each. None that somebody has locked."""
    some = _ended(before).order_by(debates.c.updated_at).limit(at_most).with_for_update(skip_locked=True).cte()
    gone = delete(debates).where(debates.c.id == some.c.id).returning(debates.c.id, debates.c.turn_count)
    return dict(connection.execute(gone).all())


def _ended(before: datetime) -> Select[tuple[UUID, int]]:
    return select(debates.c.id, debates.c.turn_count).where(
        debates.c.status.in_(ENDED_STATUSES), debates.c.updated_at < before
    )
