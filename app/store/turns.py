"""Turns: stored once, read in order of seq, never changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Integer, Uuid, and_, bindparam, func, insert, or_, select
from sqlalchemy.exc import IntegrityError

from app.core.debate import Debate, State, Status, Turn, Verdict, state_of
from app.core.seats import Seat
from app.store.engine import Engine
from app.store.looks import Look
from app.store.rows import debate_columns, debate_of, turn_columns, turn_of, turn_row
from app.store.tables import debates, turns

KEYS_OF_ONE_TURN = ("turns_one_per_slot", "turns_one_per_seq")


class TurnExists(Exception):
    """A unique key says that this turn is stored already. The transaction cannot go on."""


_SPLIT = len(debate_columns)
_DEBATE_NAMES = [column.name for column in debate_columns]
_TURN_NAMES = [column.name for column in turns.c]


@dataclass(frozen=True, slots=True)
class Latest:
    state: State
    turn: Turn
    seen_seq: int | None
    """None when that turn is not one of this debate's."""


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


def verdicts(connection: Connection, debate_id: UUID, at_most: int) -> list[tuple[int, Verdict]]:
    """The last verdicts with their rounds, oldest first, without the words around them."""
    rows = connection.execute(_VERDICTS, {"debate_id": debate_id, "count": at_most})
    return [(row.round, Verdict(**row.verdict)) for row in reversed(rows.all())]


def latest(engine: Engine, debate_id: UUID, seen_id: UUID | None) -> Latest | None:
    """Whose move it is in a debate, its last turn and the place of another turn, all from one snapshot: one statement
    sees only one. Agents ask again and again, so nothing is read that is not told."""
    found = _LATEST.rows(engine, debate_id=debate_id, seen_id=seen_id)
    if not found:
        return None
    status, floor, intervention_open, seen_seq, *turn = found[0]
    state = state_of(Status(status), Seat.of_actor(floor), intervention_open)
    return Latest(state, turn_of(dict(zip(_TURN_NAMES, turn, strict=True))), seen_seq)


def with_debate(engine: Engine, debate_id: UUID, last: int | None) -> tuple[Debate, list[Turn]] | None:
    """A debate, its motion and its last turns (all of them without a number), from one snapshot as above."""
    rows = _WITH_DEBATE.rows(engine, debate_id=debate_id, last=last)
    return (_debate_in(rows[0]), [_turn_in(row) for row in rows]) if rows else None


def _debate_in(row: Sequence[Any]) -> Debate:
    return debate_of(dict(zip(_DEBATE_NAMES, row[:_SPLIT], strict=True)))


def _turn_in(row: Sequence[Any]) -> Turn:
    return turn_of(dict(zip(_TURN_NAMES, row[_SPLIT : _SPLIT + len(_TURN_NAMES)], strict=True)))


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
_VERDICTS = _TAIL.with_only_columns(turns.c.round, turns.c.verdict).where(turns.c.verdict.is_not(None))
_AFTER = _of_debate.where(turns.c.seq > bindparam("seq")).order_by(turns.c.seq)
_OF_REQUEST = _of_debate.where(turns.c.client_request_id == bindparam("client_request_id"))
_seen = turns.alias("seen")
_any = turns.alias("any_turn")
_last_seq = select(func.max(_any.c.seq)).where(_any.c.debate_id == debates.c.id).scalar_subquery()
_both = (*debate_columns, *(column.label(f"turn_{column.name}") for column in turns.c))
_LATEST = Look(
    select(debates.c.status, debates.c.next_actor, debates.c.intervention_open, _seen.c.seq.label("seen_seq"), *turns.c)
    .select_from(debates)
    .join(turns, and_(turns.c.debate_id == debates.c.id, turns.c.seq == _last_seq))
    .outerjoin(_seen, and_(_seen.c.id == bindparam("seen_id", type_=Uuid), _seen.c.debate_id == debates.c.id))
    .where(debates.c.id == bindparam("debate_id"))
)
_last = bindparam("last", type_=Integer)
_latest_seq = select(func.max(_any.c.seq)).where(_any.c.debate_id == bindparam("debate_id")).scalar_subquery()
# The debate comes with its motion alone: beside every turn it would be most of what is sent.
_WITH_DEBATE = Look(
    select(*_both)
    .select_from(turns)
    .outerjoin(debates, and_(debates.c.id == turns.c.debate_id, turns.c.seq == 1))
    .where(
        turns.c.debate_id == bindparam("debate_id"),
        or_(turns.c.seq == 1, _last.is_(None), turns.c.seq > _latest_seq - _last),
    )
    .order_by(turns.c.seq)
)
