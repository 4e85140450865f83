"""What operators ask of the database: who works on what, since when, and what nobody works on.

Every query here reads an index or stops at a limit, so that watching costs the same however many debates there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection, Uuid, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from app.ids import first_id_at, time_of
from app.store.tables import debates, turns, workers

_claim_is_live = func.coalesce(debates.c.claim_expires_at > func.now(), False)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Who is to look at a debate next, as its row says."""

    claimed_by: str | None
    claimed_at: datetime | None
    """Both only while the claim is live."""
    due_at: datetime | None
    next_attempt_at: datetime | None


@dataclass(frozen=True, slots=True)
class HeldNow:
    """A turn that a worker thinks about."""

    worker_id: str
    debate_id: UUID
    title: str
    round: int
    actor: str
    claimed_at: datetime


def clock(connection: Connection) -> datetime:
    """The database's time: all moments in it are told by this clock."""
    now: datetime = connection.execute(select(func.now())).scalar_one()
    return now


def schedules(connection: Connection, debate_ids: Sequence[UUID]) -> dict[UUID, Schedule]:
    rows = connection.execute(_SCHEDULES, {"ids": list(debate_ids)})
    return {
        row.id: Schedule(
            row.claimed_by if row.live else None,
            time_of(row.claim_token) or row.updated_at if row.live else None,
            row.due_at,
            row.next_attempt_at,
        )
        for row in rows
    }


_SCHEDULES = select(
    debates.c.id,
    debates.c.claimed_by,
    debates.c.claim_token,
    _claim_is_live.label("live"),
    debates.c.due_at,
    debates.c.next_attempt_at,
    debates.c.updated_at,
).where(debates.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))


def workers_seen(connection: Connection, seen_seconds: float) -> list[tuple[str, datetime]]:
    seen = workers.c.seen_at >= func.now() - timedelta(seconds=seen_seconds)
    rows = connection.execute(select(workers.c.id, workers.c.seen_at).where(seen).order_by(workers.c.id))
    return [(row.id, row.seen_at) for row in rows]


def held_now(connection: Connection, at_most: int) -> list[HeldNow]:
    """A claimed debate is due when its claim lapses, so the index of what is due finds it."""
    query = (
        select(
            debates.c.claimed_by,
            debates.c.id,
            debates.c.title,
            debates.c.next_round,
            debates.c.next_actor,
            debates.c.claim_token,
            debates.c.updated_at,
        )
        .where(debates.c.due_at > func.now(), _claim_is_live)
        .limit(at_most)
    )
    return [HeldNow(*row[:5], time_of(row[5]) or row[6]) for row in connection.execute(query)]


def oldest_due(connection: Connection) -> datetime | None:
    """Since when the turn that waits longest could have been taken; None when none waits."""
    query = select(debates.c.due_at).where(debates.c.due_at <= func.now()).order_by(debates.c.due_at).limit(1)
    return connection.execute(query).scalar()


def count_retrying(connection: Connection, at_most: int) -> int:
    waiting = debates.c.due_at > func.now(), debates.c.next_attempt_at > func.now(), debates.c.attempts > 0
    found = select(debates.c.id).where(*waiting).limit(at_most).subquery()
    return connection.execute(select(func.count()).select_from(found)).scalar() or 0


def count_turns_since(connection: Connection, moment: datetime, at_most: int) -> int:
    """Turn ids begin with the time when the turn was claimed, so their own index answers."""
    found = select(turns.c.id).where(turns.c.id >= first_id_at(moment)).limit(at_most).subquery()
    return connection.execute(select(func.count()).select_from(found)).scalar() or 0
