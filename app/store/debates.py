"""Debates: read, lock, save. The scheduling columns are written here and nowhere else.

A debate is always in one of these situations towards the workers; `save` writes all columns of the one it is told:

| schedule | means |
|---|---|
| `Settled` | what the debate itself says: queued if a worker's seat has the floor, else nothing to do |
| `Claimed` | a worker thinks about the next turn; the claim lapses unless it is kept alive |
| `Later` | the player failed; not before a delay |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, null, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.types import Uuid

from app.core.debate import Debate, Status
from app.store.rows import debate_columns, debate_of, debate_row, limits_row, past_deadline
from app.store.tables import debates

_now = func.clock_timestamp()
# Marked as queued: whoever saves this queues it right after the commit.
_QUEUED: dict[str, Any] = {"due_at": _now, "queued_at": _now}


@dataclass(frozen=True, slots=True)
class Settled:
    pass


@dataclass(frozen=True, slots=True)
class Claimed:
    token: UUID
    worker_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Later:
    delay_seconds: float


Schedule = Settled | Claimed | Later
SETTLED = Settled()


@dataclass(frozen=True, slots=True)
class Locked:
    """A debate whose row this transaction has locked."""

    debate: Debate
    claim_is_live: bool
    backing_off: bool
    is_due: bool


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """What a worker must know of its debate when it comes back with a turn."""

    token: UUID | None
    past_deadline: bool


def insert_debate(connection: Connection, debate: Debate) -> Debate | None:
    """Stores a new debate; None if its id is taken."""
    values = {
        **debate_row(debate),
        "id": debate.id,
        "title": debate.title,
        "debate_type": debate.debate_type,
        "format": debate.format.value,
        "seats": {seat.role: setup.as_json() for seat, setup in debate.seats.items()},
        "limits": limits_row(debate.limits),
        **(_QUEUED if debate.awaits_worker else {}),
    }
    statement = insert(debates).values(values).on_conflict_do_nothing(index_elements=["id"]).returning(*debate_columns)
    row = connection.execute(statement).mappings().one_or_none()
    return debate_of(row) if row else None


def get(connection: Connection, debate_id: UUID) -> Debate | None:
    row = connection.execute(_GET, {"debate_id": debate_id}).mappings().one_or_none()
    return debate_of(row) if row else None


def lock(connection: Connection, debate_id: UUID) -> Locked | None:
    row = connection.execute(_LOCK, {"debate_id": debate_id}).mappings().one_or_none()
    if row is None:
        return None
    return Locked(debate_of(row), bool(row["claim_is_live"]), bool(row["backing_off"]), bool(row["is_due"]))


def lock_claim(connection: Connection, debate_id: UUID) -> ClaimCheck | None:
    """Locks the row and reads only what decides whether a claim still holds.

    Whatever else changes a debate also takes its claim away, so a worker whose token is still there knows the rest.
    """
    row = connection.execute(_LOCK_CLAIM, {"debate_id": debate_id}).one_or_none()
    return ClaimCheck(*row) if row else None


_GET = select(*debate_columns).where(debates.c.id == bindparam("debate_id"))
_LOCK = (
    select(
        *debate_columns,
        (debates.c.claim_expires_at > func.now()).label("claim_is_live"),
        (debates.c.next_attempt_at > func.now()).label("backing_off"),
        debates.c.due_at.is_not(None).label("is_due"),
    )
    .where(debates.c.id == bindparam("debate_id"))
    .with_for_update()
)
_LOCK_CLAIM = (
    select(debates.c.claim_token, past_deadline).where(debates.c.id == bindparam("debate_id")).with_for_update()
)


def save(connection: Connection, before: Debate, after: Debate, schedule: Schedule = SETTLED) -> Debate:
    """Writes what changed in a locked debate, and who is to look at it next."""
    values = {**debate_row(after), **_scheduled(after, schedule), **_deadline(before, after), "updated_at": _now}
    statement = (
        update(debates).where(debates.c.id == bindparam("debate_id")).values(values).returning(debates.c.updated_at)
    )
    updated_at = connection.execute(statement, {"debate_id": after.id}).scalar_one()
    return after.evolve(updated_at=updated_at)


def reschedule(connection: Connection, before: Debate, after: Debate, schedule: Schedule) -> None:
    """Writes who is to look at it next, and what little that changes; watchers see no new activity."""
    values = {
        "status": after.status.value,
        "next_round": after.cursor.round,
        "next_actor": after.cursor.seat.actor,
        "intervention_open": after.intervention_open,
        "turn_count": after.turn_count,
        **_scheduled(after, schedule),
        **_deadline(before, after),
    }
    connection.execute(update(debates).where(debates.c.id == after.id).values(values))


def _scheduled(debate: Debate, schedule: Schedule) -> dict[str, Any]:
    if isinstance(schedule, Claimed):
        expires = _now + timedelta(seconds=schedule.seconds)
        return _columns(
            claim_token=schedule.token, claimed_by=schedule.worker_id, claim_expires_at=expires, due_at=expires
        )
    if isinstance(schedule, Later):
        again = _now + timedelta(seconds=schedule.delay_seconds)
        return _columns(next_attempt_at=again, due_at=again)
    return _settled(debate)


def _settled(debate: Debate) -> dict[str, Any]:
    if debate.awaits_worker:
        return _columns(**_QUEUED)
    if debate.is_closed or debate.limits.max_seconds is None:
        return _columns()
    # Nobody but the clock can move it on: a worker looks at it when its time is up.
    return _columns(due_at=debates.c.deadline_at)


def _columns(**given: Any) -> dict[str, Any]:
    names = ("claim_token", "claimed_by", "claim_expires_at", "next_attempt_at", "due_at", "queued_at")
    return {name: given.get(name) for name in names}


def _deadline(before: Debate, after: Debate) -> dict[str, Any]:
    """The time limit runs only while the debate does. Written only when that changes."""
    if after.limits.max_seconds is None or before.status is after.status:
        return {}
    if after.status is Status.RUNNING:
        left = func.coalesce(debates.c.seconds_left, after.limits.max_seconds)
        deadline: ColumnElement[Any] = _now + left * timedelta(seconds=1)
        changed: dict[str, Any] = {"deadline_at": deadline, "seconds_left": null()}
        if not after.awaits_worker:
            changed["due_at"] = deadline
        return changed
    seconds = func.extract("epoch", debates.c.deadline_at - _now)
    return {"deadline_at": null(), "seconds_left": seconds, "due_at": null()}


def delete_debate(connection: Connection, debate_id: UUID) -> bool:
    return connection.execute(delete(debates).where(debates.c.id == debate_id)).rowcount == 1


def renew_claims(connection: Connection, held: Sequence[tuple[UUID, UUID]], seconds: float) -> set[UUID]:
    """Extends the claims (debate id, token) that are still ours; returns their tokens."""
    expires = _now + timedelta(seconds=seconds)
    statement = (
        update(debates)
        .where(
            debates.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))),
            debates.c.claim_token == func.any(bindparam("tokens", type_=ARRAY(Uuid))),
        )
        .values(claim_expires_at=expires, due_at=expires)
        .returning(debates.c.claim_token)
    )
    parameters = {"ids": [debate_id for debate_id, _ in held], "tokens": [token for _, token in held]}
    return set(connection.execute(statement, parameters).scalars())
