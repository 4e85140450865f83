"""The list of debates, by last activity. Pages by offset or, for a list that never skips or repeats, by cursor."""

import base64
import binascii
import json
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Integer,
    Select,
    TextClause,
    Uuid,
    and_,
    bindparam,
    func,
    or_,
    select,
)

from app.core.debate import Debate, State, Status
from app.core.seats import Seat
from app.store.engine import Engine
from app.store.looks import Guess, Look, autocommit
from app.store.rows import debate_columns, debate_of
from app.store.tables import debates, is_closed, is_open

_Condition = ColumnElement[bool] | TextClause

EXACT_TOTAL = 10_000
"""Counting further would cost more than the page itself."""


_NAMES = [column.name for column in debate_columns]


class BadCursor(Exception):
    """The cursor is not one that this list gave out."""


@dataclass(frozen=True, slots=True)
class Filters:
    state: State | None = None
    status: str | None = None
    debate_type: str | None = None
    format: str | None = None
    q: str | None = None
    pending_first_opponent: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    debates: list[Debate]
    total: int
    total_is_estimate: bool
    next_cursor: str | None


def page(engine: Engine, filters: Filters, limit: int, offset: int, cursor: str | None) -> Page:
    """Asked often, so in one statement: the total comes with each row."""
    asked: dict[str, Any] = {"limit": limit + 1, "offset": offset}
    if cursor:
        asked["at"], asked["beyond"] = _decode(cursor)
    with autocommit(engine) as connection:
        read = _page_look(filters, bool(cursor)).rows_on(connection, **asked)
        # Nothing on this page says nothing about the pages before it.
        counted = read[0][-1] if read else _total_look(filters).rows_on(connection)[0][0]
        is_estimate = counted > EXACT_TOTAL
        total = max(_guess(filters).on(connection), counted) if is_estimate else counted
    found = [debate_of(dict(zip(_NAMES, row, strict=False))) for row in read[:limit]]
    next_cursor = cursor_of(found[-1]) if found and len(read) > limit else None
    return Page(found, total, is_estimate, next_cursor)


@lru_cache(maxsize=256)
def _page_look(filters: Filters, has_cursor: bool) -> Look:
    query = select(*debate_columns, _counted(filters).scalar_subquery()).where(*_conditions(filters))
    if has_cursor:
        query = query.where(*_beyond(bindparam("at", type_=debates.c.updated_at.type), bindparam("beyond", type_=Uuid)))
    query = query.order_by(debates.c.updated_at.desc(), debates.c.id)
    return Look(query.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=Integer)))


@lru_cache(maxsize=256)
def _total_look(filters: Filters) -> Look:
    return Look(_counted(filters))


def _counted(filters: Filters) -> Select[int]:
    matching = select(debates.c.id).where(*_conditions(filters)).limit(EXACT_TOTAL + 1)
    return select(func.count()).select_from(matching.subquery())


def rows(
    connection: Connection,
    filters: Filters,
    limit: int,
    offset: int,
    cursor: str | None,
    oldest_first: bool = False,
) -> tuple[list[Debate], str | None]:
    """A page without its total, and the cursor of the next one."""
    query = select(*debate_columns).where(*_conditions(filters))
    if cursor:
        query = query.where(*_beyond(*_decode(cursor), oldest_first=oldest_first))
    # Both directions read the same index, one of them backwards.
    order = (debates.c.updated_at, debates.c.id.desc()) if oldest_first else (debates.c.updated_at.desc(), debates.c.id)
    query = query.order_by(*order).limit(limit + 1).offset(offset)
    read = connection.execute(query).mappings().all()
    found = [debate_of(row) for row in read[:limit]]
    return found, cursor_of(found[-1]) if found and len(read) > limit else None


def _beyond(
    updated_at: datetime | BindParameter[datetime], debate_id: UUID | BindParameter[UUID], oldest_first: bool = False
) -> list[ColumnElement[bool]]:
    """What comes after the cursor. The first condition is where the index is entered; an OR alone would read all of
    the pages before this one again."""
    at, same = debates.c.updated_at, debates.c.updated_at == updated_at
    if oldest_first:
        return [at >= updated_at, or_(at > updated_at, and_(same, debates.c.id < debate_id))]
    return [at <= updated_at, or_(at < updated_at, and_(same, debates.c.id > debate_id))]


def count_by_status(connection: Connection, filters: Filters, at_most: int) -> dict[str, int]:
    """How many debates of each status match the other filters, each counted no further than `at_most`."""
    others = _conditions(replace(filters, status=None))
    # The order makes Postgres read the index of each status, where the limit stops it, and not the table.
    in_order = select(debates.c.id).where(*others).order_by(debates.c.updated_at.desc(), debates.c.id).limit(at_most)
    counts = [
        select(func.count()).select_from(in_order.where(debates.c.status == status.value).subquery())
        for status in Status
    ]
    found = connection.execute(select(*(count.scalar_subquery() for count in counts))).one()
    return dict(zip((status.value for status in Status), found, strict=True))


def _conditions(filters: Filters) -> list[_Condition]:
    conditions: list[_Condition] = []
    if filters.state:
        conditions += _in_state(filters.state)
    if filters.status:
        conditions.append(debates.c.status == filters.status)
    if filters.debate_type:
        conditions.append(debates.c.debate_type == filters.debate_type)
    if filters.format:
        conditions.append(debates.c.format == filters.format)
    if filters.q:
        conditions.append(debates.c.title.icontains(filters.q, autoescape=True))
    if filters.pending_first_opponent:
        conditions += [*_in_state(State.AWAITING_OPPONENT), debates.c.next_round == 1]
    return conditions


def _in_state(state: State) -> list[_Condition]:
    if state is State.CLOSED:
        return [is_closed]
    seat_of = {State.AWAITING_PROPOSER: Seat.PROPOSER, State.AWAITING_OPPONENT: Seat.OPPONENT}
    seat = seat_of.get(state, Seat.ARBITRATOR)
    conditions: list[_Condition] = [is_open, debates.c.next_actor == seat.actor]
    if seat is Seat.ARBITRATOR:
        conditions.append(debates.c.intervention_open.is_(state is State.INTERVENTION_PENDING))
    return conditions


@lru_cache(maxsize=256)
def _guess(filters: Filters) -> Guess:
    return Guess(select(debates.c.id).where(*_conditions(filters)))


def cursor_of(debate: Debate) -> str:
    assert debate.updated_at is not None  # noqa: S101 (read from a column that is never NULL)
    packed = json.dumps([debate.updated_at.isoformat(), str(debate.id)])
    return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")


def _decode(cursor: str) -> tuple[datetime, UUID]:
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        updated_at, debate_id = json.loads(packed)
        moment = datetime.fromisoformat(updated_at)
        if moment.tzinfo is None:
            raise ValueError("no time zone")
        return moment, UUID(debate_id)
    except (binascii.Error, ValueError, TypeError, AttributeError) as problem:
        raise BadCursor(cursor) from problem
