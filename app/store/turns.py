"""Turns: stored once, read in order of seq, never changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import Connection, Uuid, and_, bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError

from app.core.debate import Debate, Turn
from app.store.rows import debate_columns, debate_of, turn_columns, turn_of, turn_row
from app.store.tables import debates, turns

KEYS_OF_ONE_TURN = ("turns_one_per_slot", "turns_one_per_seq")


class TurnExists(Exception):
    """A unique key says that this turn is stored already. The transaction cannot go on."""


@dataclass(frozen=True, slots=True)
class Latest:
    debate: Debate
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


def latest(connection: Connection, debate_id: UUID, seen_id: UUID | None) -> Latest | None:
    """A debate, its last turn and the place of another turn, all from one snapshot: one statement sees only one."""
    row = connection.execute(_LATEST, {"debate_id": debate_id, "seen_id": seen_id}).mappings().one_or_none()
    if row is None:
        return None
    last = {column.name: row[f"last_{column.name}"] for column in turns.c}
    return Latest(debate_of(row), turn_of(last), row["seen_seq"])


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
_AFTER = _of_debate.where(turns.c.seq > bindparam("seq")).order_by(turns.c.seq)
_OF_REQUEST = _of_debate.where(turns.c.client_request_id == bindparam("client_request_id"))
_seen = turns.alias("seen")
_any = turns.alias("any_turn")
_last_seq = select(func.max(_any.c.seq)).where(_any.c.debate_id == debates.c.id).scalar_subquery()
_LATEST = (
    select(*debate_columns, *(column.label(f"last_{column.name}") for column in turns.c), _seen.c.seq.label("seen_seq"))
    .select_from(debates)
    .join(turns, and_(turns.c.debate_id == debates.c.id, turns.c.seq == _last_seq))
    .outerjoin(_seen, and_(_seen.c.id == bindparam("seen_id", type_=Uuid), _seen.c.debate_id == debates.c.id))
    .where(debates.c.id == bindparam("debate_id"))
)
