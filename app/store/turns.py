"""Turns: read in order of seq. `app.store.commit` stores them; they never change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Integer, Uuid, and_, bindparam, case, column, func, or_, select, true
from sqlalchemy.dialects.postgresql import ARRAY

from app.core.debate import Debate, Situation, Speaker, Turn, TurnType
from app.core.seats import Seat
from app.core.verdicts import Verdict
from app.store.engine import Engine
from app.store.rows import (
    debate_columns,
    debate_of,
    situation_columns,
    situation_of,
    turn_columns,
    turn_of,
    turn_rows,
    verdict_of,
)
from app.store.statements import Statement
from app.store.tables import debates, request_owner, turns

KEYS_OF_ONE_TURN = ("turns_one_per_slot", "turns_one_per_seq")


class TurnExists(Exception):
    """A unique key says that this turn is already stored. The transaction cannot continue."""


_SPLIT = len(debate_columns)
_Row = Sequence[Any]
_DEBATE_NAMES = [column.name for column in debate_columns]
_ID = _DEBATE_NAMES.index("id")
_TURN_NAMES = [column.name for column in turn_columns]
_SITUATION_NAMES = [column.name for column in situation_columns]
_TURN_AT = len(_SITUATION_NAMES)


@dataclass(frozen=True, slots=True)
class Latest:
    created_at: datetime
    """Of the debate."""
    situation: Situation
    turn: Turn
    seen_seq: int | None
    """None when the seen turn does not belong to this debate."""


def motion(connection: Connection, debate_id: UUID) -> Turn:
    return turn_of(connection.execute(_MOTION, {"debate_id": debate_id}).mappings().one())


def tail(connection: Connection, debate_id: UUID, count: int) -> tuple[Turn, ...]:
    """The last turns, oldest first."""
    return tuple(reversed(turn_rows.all(connection, _TAIL, {"debate_id": debate_id, "count": count})))


def after(connection: Connection, debate_id: UUID, seq: int, at_most: int | None = None) -> tuple[Turn, ...]:
    return tuple(turn_rows.all(connection, _AFTER.limit(at_most), {"debate_id": debate_id, "seq": seq}))


def after_each(engine: Engine, known: Mapping[UUID, int], at_most: int) -> list[tuple[Debate, list[Turn]]]:
    """The debates among these that exist, each with its next turns after its seq, from one snapshot."""
    rows = _AFTER_EACH.rows(engine, ids=list(known), seqs=list(known.values()), at_most=at_most)
    found = []
    for _, group in groupby(rows, key=itemgetter(_ID)):
        of_debate = list(group)
        # Without a new turn, the columns of one are NULL.
        new = [_turn(row[_SPLIT:]) for row in of_debate if row[_SPLIT] is not None]
        found.append((_debate(of_debate[0][:_SPLIT]), new))
    return found


def verdicts(connection: Connection, debate_id: UUID, at_most: int) -> list[tuple[int | None, Verdict]]:
    """The last verdicts with their rounds, oldest first."""
    rows = connection.execute(_VERDICTS, {"debate_id": debate_id, "count": at_most}).mappings()
    found = ((row["round"], verdict_of(row["verdict"])) for row in reversed(rows.all()))
    return [(round_, verdict) for round_, verdict in found if verdict]


def rounds(connection: Connection, debate_id: UUID) -> list[tuple[int, int]]:
    """Each round with the seq of its first turn; not the motion's before the first round."""
    return [(row.round, row.seq) for row in connection.execute(_ROUNDS, {"debate_id": debate_id})]


def latest(engine: Engine, debate_id: UUID, seen_id: UUID | None) -> Latest | None:
    """A debate's situation, its last turn and the seq of a seen turn, from one snapshot. Frequent: agents poll."""
    found = _LATEST.rows(engine, debate_id=debate_id, seen_id=seen_id)
    if not found:
        return None
    created_at, seen_seq, *row = found[0]
    situation = situation_of(dict(zip(_SITUATION_NAMES, row[:_TURN_AT], strict=True)))
    return Latest(created_at, situation, _turn(row[_TURN_AT:]), seen_seq)


def with_debate(engine: Engine, debate_id: UUID, last: int | None) -> tuple[Debate, list[Turn]] | None:
    """A debate, its motion and its last turns (all of them where `last` is None), from one snapshot."""
    rows = _WITH_DEBATE.rows(engine, debate_id=debate_id, last=last)
    if not rows:
        return None
    return _debate(rows[0][:_SPLIT]), [_turn(row[_SPLIT:]) for row in rows]


def outline(engine: Engine, debate_id: UUID, last_seq: int) -> tuple[Turn, ...]:
    """The turns up to this one, without what was said after the motion."""
    rows = _OUTLINE.rows(engine, debate_id=debate_id, last_seq=last_seq)
    return tuple(map(_turn, rows))


def _debate(row: _Row) -> Debate:
    return debate_of(dict(zip(_DEBATE_NAMES, row, strict=True)))


def _turn(row: _Row) -> Turn:
    return turn_of(dict(zip(_TURN_NAMES, row, strict=True)))


def bytes_until(connection: Connection, debate_id: UUID, last_seq: int) -> int:
    """What was said up to this turn, in bytes of UTF-8."""
    query = select(func.coalesce(func.sum(func.octet_length(turns.c.content)), 0))
    found: int = connection.execute(query.where(turns.c.debate_id == debate_id, turns.c.seq <= last_seq)).scalar_one()
    return found


def get(connection: Connection, turn_id: UUID) -> Turn | None:
    return turn_rows.one_or_none(connection, _GET, {"turn_id": turn_id})


def of_request(
    connection: Connection, debate_id: UUID, client_request_id: str, seat: Seat, agent: Speaker | None
) -> Turn | None:
    """The turn that this caller stored under this id: an agent in any seat, the operator in this one."""
    owner = str(agent.id) if agent else seat.actor
    parameters = {"debate_id": debate_id, "client_request_id": client_request_id, "owner": owner}
    return turn_rows.one_or_none(connection, _OF_REQUEST, parameters)


def seats_of(connection: Connection, debate_id: UUID, agent_id: UUID) -> frozenset[Seat]:
    """Those from which this agent has spoken. The motion does not count: it is the creator's, whoever sits."""
    found = connection.execute(_ACTORS, {"debate_id": debate_id, "agent_id": agent_id}).scalars()
    return frozenset(map(Seat.of_actor, found))


_GET = select(*turn_columns).where(turns.c.id == bindparam("turn_id"))
_of_debate = select(*turn_columns).where(turns.c.debate_id == bindparam("debate_id"))
_ACTORS = (
    select(turns.c.actor)
    .distinct()
    .where(
        turns.c.debate_id == bindparam("debate_id"),
        turns.c.agent_id == bindparam("agent_id"),
        turns.c.type != TurnType.MOTION,
    )
)
_MOTION = _of_debate.where(turns.c.seq == 1)
_TAIL = _of_debate.order_by(turns.c.seq.desc()).limit(bindparam("count"))
_VERDICTS = _TAIL.with_only_columns(turns.c.round, turns.c.verdict).where(turns.c.verdict.is_not(None))
_ROUNDS = (
    select(turns.c.round, func.min(turns.c.seq).label("seq"))
    .where(turns.c.debate_id == bindparam("debate_id"), turns.c.round > 0)
    .group_by(turns.c.round)
    .order_by(turns.c.round)
)
_AFTER = _of_debate.where(turns.c.seq > bindparam("seq")).order_by(turns.c.seq)
_OF_REQUEST = _of_debate.where(
    turns.c.client_request_id == bindparam("client_request_id"), request_owner == bindparam("owner")
)
_OUTLINE = Statement(
    select(
        *(
            case((turns.c.seq == 1, turns.c.content), else_="").label("content") if column.name == "content" else column
            for column in turn_columns
        )
    )
    .where(turns.c.debate_id == bindparam("debate_id"), turns.c.seq <= bindparam("last_seq"))
    .order_by(turns.c.seq)
)
_known = (
    func.unnest(bindparam("ids", type_=ARRAY(Uuid)), bindparam("seqs", type_=ARRAY(Integer)))
    .table_valued(column("debate_id", Uuid), column("seq", Integer), name="known")
    .render_derived()
)
_missed = (
    select(*turn_columns)
    .where(turns.c.debate_id == _known.c.debate_id, turns.c.seq > _known.c.seq)
    .order_by(turns.c.seq)
    .limit(bindparam("at_most"))
    .lateral("missed")
)
_AFTER_EACH = Statement(
    select(*debate_columns, *(each.label(f"turn_{each.name}") for each in _missed.c))
    .select_from(_known)
    .join(debates, debates.c.id == _known.c.debate_id)
    .outerjoin(_missed, true())
    .order_by(debates.c.id, _missed.c.seq)
)
_seen = turns.alias("seen")
_any = turns.alias("any_turn")
_last_seq = select(func.max(_any.c.seq)).where(_any.c.debate_id == debates.c.id).scalar_subquery()
_both = (*debate_columns, *(column.label(f"turn_{column.name}") for column in turn_columns))
_LATEST = Statement(
    select(
        debates.c.created_at.label("debate_created_at"),
        _seen.c.seq.label("seen_seq"),
        *situation_columns,
        *turn_columns,
    )
    .select_from(debates)
    .join(turns, and_(turns.c.debate_id == debates.c.id, turns.c.seq == _last_seq))
    .outerjoin(_seen, and_(_seen.c.id == bindparam("seen_id", type_=Uuid), _seen.c.debate_id == debates.c.id))
    .where(debates.c.id == bindparam("debate_id"))
)
_last = bindparam("last", type_=Integer)
_latest_seq = select(func.max(_any.c.seq)).where(_any.c.debate_id == bindparam("debate_id")).scalar_subquery()
# Only the motion's row carries the debate: repeated with every turn it would be most of the data.
_WITH_DEBATE = Statement(
    select(*_both)
    .select_from(turns)
    .outerjoin(debates, and_(debates.c.id == turns.c.debate_id, turns.c.seq == 1))
    .where(
        turns.c.debate_id == bindparam("debate_id"),
        or_(turns.c.seq == 1, _last.is_(None), turns.c.seq > _latest_seq - _last),
    )
    .order_by(turns.c.seq)
)
