"""Debates: read, lock, save. The scheduling columns are written here and nowhere else.

Whoever saves a debate says who is to look at it next; all columns of that situation are written:

| schedule | means |
|---|---|
| `Settled` | what the debate itself says: queued if a worker's seat has the floor, else nothing to do |
| `Claimed` | a worker thinks about the next turn; the claim lapses unless it is kept alive |
| `Later` | the player failed; not before a delay |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Double, Interval, Text, Uuid, bindparam, delete, func, literal, null, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.engine import RowMapping
from sqlalchemy.sql.dml import ReturningUpdate

from app.core.debate import Debate, Status
from app.store.rows import debate_columns, debate_of, debate_row, limits_row, past_deadline
from app.store.tables import debates

_now = func.clock_timestamp()
# Marked as queued: whoever saves this queues it right after the commit.
_QUEUED: dict[str, Any] = {"due_at": _now, "queued_at": _now}
_SECOND = literal(timedelta(seconds=1), Interval)
_RESCHEDULED = ("status", "next_round", "next_actor", "intervention_open", "turn_count")
_MOVED = (
    *_RESCHEDULED,
    "stop_reason",
    "stop_note",
    "last_error",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "verdict",
    "attempts",
)


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
    waited_seconds: float | None
    """Since it was due, by the database's clock; None while it is not to be looked at."""


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """What a worker must know of its debate when it comes back with a turn."""

    token: UUID | None
    past_deadline: bool


def setup_row(debate: Debate) -> dict[str, Any]:
    """What is said once, when the debate is made."""
    return {
        "id": debate.id,
        "title": debate.title,
        "debate_type": debate.debate_type,
        "format": debate.format.value,
        "seats": {seat.role: setup.as_json() for seat, setup in debate.seats.items()},
        "limits": limits_row(debate.limits),
    }


def insert_debate(connection: Connection, debate: Debate) -> Debate | None:
    """Stores a new debate; None if its id is taken."""
    values = {**debate_row(debate), **setup_row(debate), **(_QUEUED if debate.awaits_worker else {})}
    statement = insert(debates).values(values).on_conflict_do_nothing(index_elements=["id"]).returning(*debate_columns)
    row = connection.execute(statement).mappings().one_or_none()
    return debate_of(row) if row else None


def get(connection: Connection, debate_id: UUID) -> Debate | None:
    row = connection.execute(_GET, {"debate_id": debate_id}).mappings().one_or_none()
    return debate_of(row) if row else None


def get_many(connection: Connection, debate_ids: Sequence[UUID]) -> list[Debate]:
    return [debate_of(row) for row in connection.execute(_GET_MANY, {"ids": list(debate_ids)}).mappings()]


def lock(connection: Connection, debate_id: UUID) -> Locked | None:
    row = connection.execute(_LOCK, {"debate_id": debate_id}).mappings().one_or_none()
    return locked_of(row) if row else None


def locked_of(row: RowMapping | dict[str, Any]) -> Locked:
    return Locked(
        debate_of(row),
        bool(row["claim_is_live"]),
        bool(row["backing_off"]),
        bool(row["is_due"]),
        row["waited_seconds"],
    )


def lock_claim(connection: Connection, debate_id: UUID) -> ClaimCheck | None:
    """Locks the row and reads only what decides whether a claim still holds.

    Whatever else changes a debate also takes its claim away, so a worker whose token is still there knows the rest.
    """
    row = connection.execute(_LOCK_CLAIM, {"debate_id": debate_id}).one_or_none()
    return ClaimCheck(*row) if row else None


_GET = select(*debate_columns).where(debates.c.id == bindparam("debate_id"))
_GET_MANY = select(*debate_columns).where(debates.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
with_schedule = select(
    *debate_columns,
    (debates.c.claim_expires_at > func.now()).label("claim_is_live"),
    (debates.c.next_attempt_at > func.now()).label("backing_off"),
    debates.c.due_at.is_not(None).label("is_due"),
    func.extract("epoch", _now - debates.c.due_at).cast(Double).label("waited_seconds"),
)
_LOCK = with_schedule.where(debates.c.id == bindparam("debate_id")).with_for_update()
_LOCK_CLAIM = (
    select(debates.c.claim_token, past_deadline).where(debates.c.id == bindparam("debate_id")).with_for_update()
)


def save(connection: Connection, before: Debate, after: Debate, schedule: Schedule = SETTLED) -> Debate:
    """Writes what changed in a locked debate, and who is to look at it next."""
    statement = _update(_situation(after, schedule), _time_limit(before, after), moved=True)
    parameters = {**debate_row(after), **_parameters(after, schedule)}
    return after.evolve(updated_at=connection.execute(statement, parameters).scalar_one())


def reschedule(connection: Connection, before: Debate, after: Debate, schedule: Schedule = SETTLED) -> None:
    """Writes who is to look at it next, and what little that changes; watchers see no new activity."""
    statement = _update(_situation(after, schedule), _time_limit(before, after), moved=False)
    connection.execute(statement, {**debate_row(after), **_parameters(after, schedule)})


class _Situation(Enum):
    """Who is to look at the debate next."""

    CLAIMED = "a worker thinks"
    LATER = "a worker, after a delay"
    QUEUED = "a worker, as soon as one is free"
    WAITING = "somebody outside, or the clock"
    CLOSED = "nobody"


class _TimeLimit(Enum):
    """What happens to max_seconds, which runs only while the debate does."""

    UNCHANGED = "unchanged"
    STARTS = "starts, or goes on with what was left"
    HELD = "held, with what is left"


def _situation(debate: Debate, schedule: Schedule) -> _Situation:
    if isinstance(schedule, Claimed):
        return _Situation.CLAIMED
    if isinstance(schedule, Later):
        return _Situation.LATER
    if debate.awaits_worker:
        return _Situation.QUEUED
    return _Situation.CLOSED if debate.is_closed else _Situation.WAITING


def _time_limit(before: Debate, after: Debate) -> _TimeLimit:
    if after.limits.max_seconds is None or before.status is after.status or after.is_closed:
        return _TimeLimit.UNCHANGED
    return _TimeLimit.STARTS if after.status is Status.RUNNING else _TimeLimit.HELD


def _parameters(debate: Debate, schedule: Schedule) -> dict[str, Any]:
    parameters: dict[str, Any] = {"debate_id": debate.id, "max_seconds": debate.limits.max_seconds}
    if isinstance(schedule, Claimed):
        return {**parameters, "token": schedule.token, "worker_id": schedule.worker_id, "seconds": schedule.seconds}
    if isinstance(schedule, Later):
        return {**parameters, "seconds": schedule.delay_seconds}
    return parameters


@cache
def _update(situation: _Situation, time_limit: _TimeLimit, moved: bool) -> ReturningUpdate[Any]:
    """Made once for each of the few combinations: building a statement costs more than running it."""
    names = _MOVED if moved else _RESCHEDULED
    values: dict[str, Any] = {name: bindparam(name, type_=debates.c[name].type) for name in names}
    values.update(_schedule_columns(situation))
    values.update(_time_limit_columns(situation, time_limit))
    if moved:
        values["updated_at"] = _now
    return update(debates).where(debates.c.id == bindparam("debate_id")).values(values).returning(debates.c.updated_at)


def _schedule_columns(situation: _Situation) -> dict[str, Any]:
    soon = _now + bindparam("seconds", type_=Double) * _SECOND
    given: dict[str, Any] = {}
    if situation is _Situation.CLAIMED:
        token, worker_id = bindparam("token", type_=Uuid), bindparam("worker_id", type_=Text)
        given = {"claim_token": token, "claimed_by": worker_id, "claim_expires_at": soon, "due_at": soon}
    elif situation is _Situation.LATER:
        given = {"next_attempt_at": soon, "due_at": soon}
    elif situation is _Situation.QUEUED:
        given = _QUEUED
    elif situation is _Situation.WAITING:
        # Nobody but the clock can move it on: a worker looks at it when its time is up.
        given = {"due_at": debates.c.deadline_at}
    names = ("claim_token", "claimed_by", "claim_expires_at", "next_attempt_at", "due_at", "queued_at")
    return {name: given.get(name, null()) for name in names}


def _time_limit_columns(situation: _Situation, time_limit: _TimeLimit) -> dict[str, Any]:
    if time_limit is _TimeLimit.STARTS:
        left = func.coalesce(debates.c.seconds_left, bindparam("max_seconds", type_=Double))
        deadline = _now + left * _SECOND
        also_due = {"due_at": deadline} if situation is _Situation.WAITING else {}
        return {"deadline_at": deadline, "seconds_left": null(), **also_due}
    if time_limit is _TimeLimit.HELD:
        seconds_left = func.extract("epoch", debates.c.deadline_at - _now)
        return {"deadline_at": null(), "seconds_left": seconds_left, "due_at": null()}
    return {}


def delete_debate(connection: Connection, debate_id: UUID) -> None:
    connection.execute(delete(debates).where(debates.c.id == debate_id))


def claims_that_hold(connection: Connection, held: Sequence[tuple[UUID, UUID]]) -> set[UUID]:
    """Of the claims (debate id, token), the tokens that are still there."""
    statement = select(debates.c.claim_token).where(
        debates.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))),
        debates.c.claim_token == func.any(bindparam("tokens", type_=ARRAY(Uuid))),
    )
    parameters = {"ids": [debate_id for debate_id, _ in held], "tokens": [token for _, token in held]}
    return set(connection.execute(statement, parameters).scalars())


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
