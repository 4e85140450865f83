"""Turns: stored once, read in order of seq, never changed."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from app.core.debate import Turn
from app.store.rows import turn_columns, turn_of, turn_row
from app.store.tables import turns

KEYS_OF_ONE_TURN = ("turns_one_per_slot", "turns_one_per_seq")


class TurnExists(Exception):
    """A unique key says that this turn is stored already. The transaction cannot go on."""


def insert_turns(connection: Connection, new: Sequence[Turn]) -> list[Turn]:
    stored = []
    for turn in new:
        try:
            created_at = connection.execute(_INSERT, turn_row(turn)).scalar_one()
        except IntegrityError as conflict:
            if getattr(conflict.orig, "diag", None) and conflict.orig.diag.constraint_name in KEYS_OF_ONE_TURN:  # type: ignore[union-attr]
                raise TurnExists(f"{turn.debate_id} round {turn.round} {turn.seat.actor}") from conflict
            raise
        stored.append(replace(turn, created_at=created_at))
    return stored


def motion(connection: Connection, debate_id: UUID) -> Turn:
    return turn_of(connection.execute(_MOTION, {"debate_id": debate_id}).mappings().one())


def tail(connection: Connection, debate_id: UUID, count: int) -> tuple[Turn, ...]:
    """The last turns, oldest first."""
    rows = connection.execute(_TAIL, {"debate_id": debate_id, "count": count}).mappings().all()
    return tuple(turn_of(row) for row in reversed(rows))


def after(connection: Connection, debate_id: UUID, seq: int, at_most: int | None = None) -> tuple[Turn, ...]:
    rows = connection.execute(_AFTER.limit(at_most), {"debate_id": debate_id, "seq": seq}).mappings()
    return tuple(turn_of(row) for row in rows)


def with_verdict(connection: Connection, debate_id: UUID, at_most: int) -> tuple[Turn, ...]:
    """The last turns that judged, oldest first."""
    rows = connection.execute(_WITH_VERDICT, {"debate_id": debate_id, "count": at_most}).mappings().all()
    return tuple(turn_of(row) for row in reversed(rows))


def get(connection: Connection, turn_id: UUID) -> Turn | None:
    row = connection.execute(_GET, {"turn_id": turn_id}).mappings().one_or_none()
    return turn_of(row) if row else None


def of_request(connection: Connection, debate_id: UUID, client_request_id: str) -> Turn | None:
    parameters = {"debate_id": debate_id, "client_request_id": client_request_id}
    row = connection.execute(_OF_REQUEST, parameters).mappings().one_or_none()
    return turn_of(row) if row else None


_INSERT = insert(turns).returning(turns.c.created_at)
_GET = select(*turn_columns).where(turns.c.id == bindparam("turn_id"))
_of_debate = select(*turn_columns).where(turns.c.debate_id == bindparam("debate_id"))
_MOTION = _of_debate.where(turns.c.seq == 1)
_TAIL = _of_debate.order_by(turns.c.seq.desc()).limit(bindparam("count"))
_WITH_VERDICT = _TAIL.where(turns.c.verdict.is_not(None))
_AFTER = _of_debate.where(turns.c.seq > bindparam("seq")).order_by(turns.c.seq)
_OF_REQUEST = _of_debate.where(turns.c.client_request_id == bindparam("client_request_id"))
