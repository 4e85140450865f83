"""Debates: read, locked, deleted, pruned. `app.store.create` creates them, `app.store.commit` changes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, Select, Text, Uuid, bindparam, cast, delete, func, select, update
from sqlalchemy.dialects.postgresql import ARRAY

from app.core.debate import ENDED_STATUSES, Debate, Usage
from app.core.seats import Seat
from app.store.rows import debate_columns, debate_rows
from app.store.tables import debates


def get(connection: Connection, debate_id: UUID) -> Debate | None:
    return debate_rows.one_or_none(connection, _GET, {"debate_id": debate_id})


def get_many(connection: Connection, debate_ids: Sequence[UUID]) -> list[Debate]:
    return debate_rows.all(connection, _GET_MANY, {"ids": list(debate_ids)})


def lock(connection: Connection, debate_id: UUID) -> Debate | None:
    return debate_rows.one_or_none(connection, _LOCK, {"debate_id": debate_id})


def charge(connection: Connection, debate_id: UUID, usage: Usage) -> bool:
    """Adds to the debate's usage, with or without a claim; false if the debate was deleted."""
    statement = (
        update(debates)
        .where(debates.c.id == debate_id)
        .values(
            input_tokens=debates.c.input_tokens + usage.input_tokens,
            output_tokens=debates.c.output_tokens + usage.output_tokens,
            cost_usd=debates.c.cost_usd + usage.cost_usd,
        )
    )
    return connection.execute(statement).rowcount == 1


def save_holder(connection: Connection, debate: Debate, seat: Seat) -> Debate:
    """Writes who holds this seat, in a transaction that has locked the row. Nothing else of the seats ever changes."""
    setup = debate.seats[seat].as_json()
    statement = (
        update(debates)
        .where(debates.c.id == debate.id)
        .values(
            seats=func.jsonb_set(debates.c.seats, cast([seat.role], ARRAY(Text)), cast(setup, debates.c.seats.type)),
            updated_at=func.clock_timestamp(),
        )
        .returning(debates.c.updated_at)
    )
    return debate.evolve(updated_at=connection.execute(statement).scalar_one())


def delete_debate(connection: Connection, debate_id: UUID) -> UUID | None:
    """Returns the token of the claim that this ends, if a worker had one."""
    statement = delete(debates).where(debates.c.id == debate_id).returning(debates.c.claim_token)
    token: UUID | None = connection.execute(statement).scalar_one_or_none()
    return token


_GET = select(*debate_columns).where(debates.c.id == bindparam("debate_id"))
_GET_MANY = select(*debate_columns).where(debates.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
_LOCK = _GET.with_for_update()


@dataclass(frozen=True, slots=True)
class EndedCount:
    debates: int
    turns: int


@dataclass(frozen=True, slots=True)
class Pruned:
    id: UUID
    turn_count: int
    updated_at: datetime


def count_ended(connection: Connection, before: datetime) -> EndedCount:
    old = _ended(before).subquery()
    statement = select(func.count(), func.coalesce(func.sum(old.c.turn_count), 0)).select_from(old)
    return EndedCount(*connection.execute(statement).one())


def delete_ended(connection: Connection, since: datetime | None, before: datetime, at_most: int) -> list[Pruned]:
    """The oldest of them, except for locked rows. `since` is where the batch before it ended: the index still has its
    rows until the next vacuum."""
    old = _ended(before) if since is None else _ended(before).where(debates.c.updated_at >= since)
    chosen = old.order_by(debates.c.updated_at).limit(at_most).with_for_update(skip_locked=True).cte()
    gone = delete(debates).where(debates.c.id == chosen.c.id)
    returned = gone.returning(debates.c.id, debates.c.turn_count, debates.c.updated_at)
    return [Pruned(*row) for row in connection.execute(returned)]


def _ended(before: datetime) -> Select[tuple[UUID, int]]:
    return select(debates.c.id, debates.c.turn_count).where(
        debates.c.status.in_(ENDED_STATUSES), debates.c.updated_at < before
    )
