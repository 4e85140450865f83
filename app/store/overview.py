"""Queries for operators and the relay. Each reads an index or stops at a limit, however many debates there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, Uuid, bindparam, case, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from app.core.changes import ChangedDebate
from app.store.ids import first_id_at, time_of
from app.store.statements import count
from app.store.tables import debates, turns

# A dead worker's claims are released soon after its lease has expired; until then they count as live.
_is_claimed = debates.c.claim_token.is_not(None)


@dataclass(frozen=True, slots=True)
class NextWork:
    """When and by whom a debate is worked on next, as its row says."""

    claimed_by: str | None
    claimed_at: datetime | None
    """Both are set only while the debate is claimed."""
    due_at: datetime | None
    """Set only while it is not claimed."""
    next_attempt_at: datetime | None


@dataclass(frozen=True, slots=True)
class LiveClaim:
    """A turn that a worker has claimed."""

    worker_id: str
    debate_id: UUID
    title: str
    round: int
    actor: str
    claimed_at: datetime


def clock(connection: Connection) -> datetime:
    """The database's time, which wrote every stored time: when the transaction began."""
    now: datetime = connection.execute(select(func.now())).scalar_one()
    return now


def schedules(connection: Connection, debate_ids: Sequence[UUID]) -> dict[UUID, NextWork]:
    rows = connection.execute(_SCHEDULES, {"ids": list(debate_ids)})
    return {
        row.id: NextWork(
            row.claimed_by if row.claim_token else None,
            time_of(row.claim_token) or row.updated_at if row.claim_token else None,
            row.due_at,
            row.next_attempt_at,
        )
        for row in rows
    }


_SCHEDULES = select(
    debates.c.id,
    debates.c.claimed_by,
    debates.c.claim_token,
    case((~_is_claimed, debates.c.due_at)).label("due_at"),
    debates.c.next_attempt_at,
    debates.c.updated_at,
).where(debates.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))


def live_claims(connection: Connection, at_most: int) -> list[LiveClaim]:
    """A claimed debate has a `due_at`, so the index of due debates finds it."""
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
        .where(debates.c.due_at.is_not(None), _is_claimed)
        .limit(at_most)
    )
    return [LiveClaim(*row[:5], time_of(row[5]) or row[6]) for row in connection.execute(query)]


def oldest_due(connection: Connection) -> datetime | None:
    """The time at which the oldest waiting turn became due; None if none waits."""
    is_waiting = debates.c.due_at <= func.now(), debates.c.claim_token.is_(None)
    query = select(debates.c.due_at).where(*is_waiting).order_by(debates.c.due_at).limit(1)
    return connection.execute(query).scalar()


def count_retrying(connection: Connection, at_most: int) -> int:
    waiting = debates.c.due_at > func.now(), debates.c.next_attempt_at > func.now(), debates.c.attempts > 0
    return count(connection, select(debates.c.id).where(*waiting), at_most)


def count_turns_since(connection: Connection, moment: datetime, at_most: int) -> int:
    """Turn ids begin with the time of the claim, so their index answers."""
    return count(connection, select(turns.c.id).where(turns.c.id >= first_id_at(moment)), at_most)


# For the relay, which compares thousands of debates every few seconds: only the columns that distinguish changes.


def changed_since(connection: Connection, since: datetime, at_most: int) -> list[ChangedDebate]:
    """Newest first: beyond `at_most` the oldest are left out."""
    newest = select(*_COLUMNS).where(debates.c.updated_at > since).order_by(debates.c.updated_at.desc()).limit(at_most)
    return [ChangedDebate(*row) for row in connection.execute(newest)]


def last_changes(connection: Connection, debate_ids: Sequence[UUID]) -> list[ChangedDebate]:
    """Of the debates among these that exist."""
    return [ChangedDebate(*row) for row in connection.execute(_LAST_CHANGES, {"ids": list(debate_ids)})]


_COLUMNS = [debates.c[name] for name in ChangedDebate.__slots__]
_LAST_CHANGES = select(*_COLUMNS).where(debates.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
