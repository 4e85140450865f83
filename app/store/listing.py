"""The list of debates, by last activity. Pages by offset or, for a list that never skips or repeats, by cursor."""

import base64
import binascii
import json
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import psycopg
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
    text,
)

from app.core.debate import Debate, State, Status
from app.core.seats import Seat
from app.store import titles
from app.store.engine import Engine
from app.store.looks import Guess, Look, autocommit
from app.store.rows import debate_columns, debate_of
from app.store.tables import debates, is_closed, is_open

_Condition = ColumnElement[bool] | TextClause

EXACT_TOTAL = 10_000
"""Counting further would cost more than the page itself."""

FETCHED_FOR_PASSED = 3
"""A debate that is fetched by its id and sorted costs as much as three that a walk along the list passes."""

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
    asked: dict[str, Any] = {"limit": limit + 1, "offset": offset}
    if cursor:
        asked["at"], asked["beyond"] = _decode(cursor)
    with autocommit(engine) as connection:
        read, counted = _searched(connection, filters, asked) if filters.q else _filtered(connection, filters, asked)
        is_estimate = counted > EXACT_TOTAL
        total = max(_guess(filters).on(connection), counted) if is_estimate else counted
    found = [debate_of(dict(zip(_NAMES, row, strict=False))) for row in read[:limit]]
    next_cursor = cursor_of(found[-1]) if found and len(read) > limit else None
    return Page(found, total, is_estimate, next_cursor)


_Found = tuple[list[tuple[Any, ...]], int]
"""The rows of a page, and how many there are of all pages."""


def _filtered(connection: "psycopg.Connection[Any]", filters: Filters, asked: dict[str, Any]) -> _Found:
    """Asked often, so in one statement: the total comes with each row."""
    read = _page_look(filters, "at" in asked, with_total=True).rows_on(connection, **asked)
    # Nothing on this page says nothing about the pages before it.
    return read, read[0][-1] if read else _total_look(filters).rows_on(connection)[0][0]


def _searched(connection: "psycopg.Connection[Any]", filters: Filters, asked: dict[str, Any]) -> _Found:
    """The total first: how to come by the page depends on it."""
    by_index = titles.are_few(connection, filters.q or "")
    if not by_index and _one_too_many(filters).rows_on(connection):
        return _page_look(filters, "at" in asked).rows_on(connection, **asked), EXACT_TOTAL + 1
    [(counted, debates_in_all)] = _total_look(filters, by_index).rows_on(connection)
    if not counted:
        return [], 0
    # Either fetch what matches and sort it, or walk along the list and pass what does not match.
    passed = debates_in_all / counted * (asked["limit"] + asked["offset"])
    by_index = by_index and counted * FETCHED_FOR_PASSED <= passed
    look = _page_look(filters, "at" in asked, by_index=by_index)
    return look.rows_on(connection, **asked), counted


@lru_cache(maxsize=256)
def _page_look(filters: Filters, has_cursor: bool, with_total: bool = False, by_index: bool = False) -> Look:
    query = select(*debate_columns).where(*_conditions(filters, by_index))
    if with_total:
        query = query.add_columns(_counted(filters).scalar_subquery())
    if has_cursor:
        query = query.where(*_beyond(bindparam("at", type_=debates.c.updated_at.type), bindparam("beyond", type_=Uuid)))
    query = query.order_by(debates.c.updated_at.desc(), debates.c.id)
    query = query.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=Integer))
    return Look(query, planned_each_time=bool(filters.q))


@lru_cache(maxsize=256)
def _total_look(filters: Filters, by_index: bool = False) -> Look:
    in_all = (
        select(text("greatest(reltuples, 0)")).select_from(text("pg_class")).where(text("oid = 'debates'::regclass"))
    )
    return Look(_counted(filters, by_index).add_columns(in_all.scalar_subquery()), planned_each_time=bool(filters.q))


@lru_cache(maxsize=256)
def _one_too_many(filters: Filters) -> Look:
    """Passing 10,000 takes less time than counting them."""
    return Look(_matching(filters).limit(1).offset(EXACT_TOTAL), planned_each_time=True)


def _counted(filters: Filters, by_index: bool = False) -> Select[int]:
    matching = _matching(filters, by_index).limit(EXACT_TOTAL + 1)
    return select(func.count()).select_from(matching.subquery())


def _matching(filters: Filters, by_index: bool = False) -> Select[Any]:
    if filters.q and filters == Filters(q=filters.q):
        return titles.holding(filters.q, by_index)
    return select(debates.c.id).where(*_conditions(filters, by_index))


def rows(
    connection: Connection,
    filters: Filters,
    limit: int,
    offset: int,
    cursor: str | None,
    oldest_first: bool = False,
) -> tuple[list[Debate], str | None]:
    """A page without its total, and the cursor of the next one."""
    query = select(*debate_columns).where(*_conditions(filters, _by_index(connection, filters)))
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
    by_index = _by_index(connection, filters)
    others = _conditions(replace(filters, status=None), by_index)
    if by_index:
        by_status = (
            select(debates.c.status, func.least(func.count(), at_most)).where(*others).group_by(debates.c.status)
        )
        return {status.value: 0 for status in Status} | dict(connection.execute(by_status).all())
    # The order makes Postgres read the index of each status, where the limit stops it, and not the table.
    in_order = select(debates.c.id).where(*others).order_by(debates.c.updated_at.desc(), debates.c.id).limit(at_most)
    counts = [
        select(func.count()).select_from(in_order.where(debates.c.status == status.value).subquery())
        for status in Status
    ]
    found = connection.execute(select(*(count.scalar_subquery() for count in counts))).one()
    return dict(zip((status.value for status in Status), found, strict=True))


def _by_index(connection: Connection, filters: Filters) -> bool:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)  # noqa: S101 (the engine's dialect)
    return bool(filters.q) and titles.are_few(driver, filters.q or "")


def _conditions(filters: Filters, by_index: bool = False) -> list[_Condition]:
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
        conditions.append(titles.held(filters.q, by_index))
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
    if not filters.q:
        return Guess(_matching(filters))
    # Of the titles in their own table Postgres has statistics.
    others = _conditions(replace(filters, q=None))
    return Guess(select(debates.c.id).where(*others, debates.c.id.in_(titles.holding(filters.q))))


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
