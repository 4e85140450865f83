"""The list of debates, by last activity, with filters and a search in titles and texts. Pages are read by offset or by
page cursor; only pages by cursor never skip or repeat a debate while others are updated.

A search (app/store/search.py) is answered in one of two ways: where few debates match, an index finds them; where many
do, reading the list in its order finds a page sooner.
"""

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
from app.store import search
from app.store.engine import Engine, driver_of
from app.store.ids import ids_beginning_with
from app.store.page_cursors import pack_time_and_id, unpack_time_and_id
from app.store.rows import debate_columns, debate_of
from app.store.statements import RowEstimate, Statement
from app.store.tables import (
    debate_titles,
    debates,
    is_closed,
    is_judged,
    is_open,
    is_started,
    is_unheld,
    wants_opponent,
)

_Condition = ColumnElement[bool] | TextClause

EXACT_TOTAL = 10_000
"""Totals are counted up to this and estimated beyond: counting further would cost more than the page itself."""

FETCH_COST = 3
"""Fetching a debate by its id and sorting it costs as much as reading past this many debates in list order."""

READ_TEXTS_COST = 10
"""Reading past a debate in list order costs so many times as much where the words of its turns are looked at."""

FEW_TITLES = 30_000
"""Above this, reading titles in list order is faster than the index: measured with a million titles."""

_SORTS = {
    "cost": debates.c.cost_usd.desc(),
    "rounds": debates.c.next_round.desc(),
    "newest": debates.c.created_at.desc(),
    "eldest": debates.c.created_at.asc(),
}

_NAMES = [column.name for column in debate_columns]


@dataclass(frozen=True, slots=True)
class Filters:
    state: tuple[State, ...] = ()
    """Any of these; all states if empty. So with the statuses."""
    status: tuple[str, ...] = ()
    debate_type: str | None = None
    format: str | None = None
    id: str | None = None
    """The beginning of an id, or all of it."""
    q: str | None = None
    """In the title."""
    texts: bool = False
    """`q` is looked for in the words of the turns, too."""
    pending_first_opponent: bool = False
    experiment: UUID | None = None
    asked_by: UUID | None = None
    """The agent that asks for debates without an opponent: it can join where that seat is bound to it or to nobody, and
    not where it holds another seat."""
    player: str | None = None
    """In any seat."""
    tag: str | None = None
    winner: str | None = None
    error: bool = False
    since: datetime | None = None
    until: datetime | None = None
    """Last activity: not before `since`, and before `until`."""

    @property
    def labels(self) -> list[str]:
        """As the table `debate_titles` has them."""
        named = (("player", self.player), ("tag", self.tag))
        return [f"{kind}:{value}" for kind, value in named if value is not None]


@dataclass(frozen=True, slots=True)
class CountedPage:
    debates: list[Debate]
    total: int
    total_is_estimate: bool
    next_cursor: str | None


def page(engine: Engine, filters: Filters, limit: int, offset: int, cursor: str | None) -> CountedPage:
    asked: dict[str, Any] = {"limit": limit + 1, "offset": offset}
    if cursor:
        asked["at"], asked["beyond"] = unpack_time_and_id(cursor)
    with engine.autocommit() as connection:
        counted_page = _searched if _is_search(filters) else _filtered
        read, counted, is_estimate = _many(connection, filters, asked) or counted_page(connection, filters, asked)
        total = max(_estimate(filters).rows_on(connection), counted) if is_estimate else counted
    found = [debate_of(dict(zip(_NAMES, row, strict=False))) for row in read[:limit]]
    next_cursor = cursor_of(found[-1]) if found and len(read) > limit else None
    return CountedPage(found, total, is_estimate, next_cursor)


_Found = tuple[list[tuple[Any, ...]], int, bool]
"""The rows of a page, how many there are at least on all pages, and whether there may be more."""


def _many(connection: "psycopg.Connection[Any]", filters: Filters, asked: dict[str, Any]) -> _Found | None:
    """The page of a search or filter that found too many to count a few seconds ago: they are not counted again while
    their estimate is cached. None where that is not so, or this page is the last."""
    if not _estimate(filters).is_cached:
        return None
    read = _page_statement(filters, "at" in asked).rows_on(connection, **asked)
    return (read, EXACT_TOTAL + 1, True) if len(read) == asked["limit"] else None


def _filtered(connection: "psycopg.Connection[Any]", filters: Filters, asked: dict[str, Any]) -> _Found:
    """Frequent, so one statement: every row carries the total."""
    read = _page_statement(filters, "at" in asked, with_total=True).rows_on(connection, **asked)
    # An empty page carries no total.
    counted = read[0][-1] if read else _total_statement(filters).rows_on(connection)[0][0]
    return read, counted, counted > EXACT_TOTAL


def _searched(connection: "psycopg.Connection[Any]", filters: Filters, asked: dict[str, Any]) -> _Found:
    """Counts first: the total decides how the page is read."""
    by_index = few_match(connection, filters)
    if filters.texts and not by_index:
        # Counting would read the texts of all debates.
        read = _page_statement(filters, "at" in asked).rows_on(connection, **asked)
        return read, asked["offset"] * bool(read) + len(read), True
    if not by_index and _beyond_exact_total(filters).rows_on(connection):
        return _page_statement(filters, "at" in asked).rows_on(connection, **asked), EXACT_TOTAL + 1, True
    [(counted, debates_in_all)] = _total_statement(filters, by_index).rows_on(connection)
    if not counted:
        return [], 0, False
    # Either fetch the matches by index and sort them, or read the list in order and skip what does not match.
    to_read = debates_in_all / counted * (asked["limit"] + asked["offset"])
    read_cost = READ_TEXTS_COST if filters.texts else 1
    by_index = by_index and counted * FETCH_COST <= to_read * read_cost
    read = _page_statement(filters, "at" in asked, by_index=by_index).rows_on(connection, **asked)
    return read, counted, counted > EXACT_TOTAL


@lru_cache(maxsize=256)
def _page_statement(filters: Filters, has_cursor: bool, with_total: bool = False, by_index: bool = False) -> Statement:
    query = select(*debate_columns).where(*_conditions(filters, by_index))
    if with_total:
        query = query.add_columns(_counted(filters).scalar_subquery())
    if has_cursor:
        query = query.where(*_beyond(bindparam("at", type_=debates.c.updated_at.type), bindparam("beyond", type_=Uuid)))
    query = query.order_by(debates.c.updated_at.desc(), debates.c.id)
    query = query.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=Integer))
    # A plan for any limit and offset would be to read and sort the whole table.
    return Statement(query, planned_each_time=True)


@lru_cache(maxsize=256)
def _total_statement(filters: Filters, by_index: bool = False) -> Statement:
    in_all = (
        select(text("greatest(reltuples, 0)")).select_from(text("pg_class")).where(text("oid = 'debates'::regclass"))
    )
    # As with pages: a plan from when there were few debates would read all of them.
    return Statement(_counted(filters, by_index).add_columns(in_all.scalar_subquery()), planned_each_time=True)


@lru_cache(maxsize=256)
def _beyond_exact_total(filters: Filters) -> Statement:
    """Skipping 10,000 rows takes less time than counting them."""
    return Statement(_matching(filters).limit(1).offset(EXACT_TOTAL), planned_each_time=True)


def _counted(filters: Filters, by_index: bool = False) -> Select[int]:
    matching = _matching(filters, by_index).limit(EXACT_TOTAL + 1)
    return select(func.count()).select_from(matching.subquery())


def _matching(filters: Filters, by_index: bool = False) -> Select[Any]:
    if filters.q and filters == Filters(q=filters.q):
        return search.ids_by_title(filters.q, by_index)
    if filters.q and by_index and filters == Filters(q=filters.q, texts=True):
        return select(search.ids_by_title_or_text(filters.q).subquery())
    return select(debates.c.id).where(*_conditions(filters, by_index))


def rows(
    connection: Connection, filters: Filters, limit: int, cursor: str | None, oldest_first: bool
) -> tuple[list[Debate], str | None]:
    """A page without its total, and the page cursor of the next one."""
    query = select(*debate_columns).where(*_conditions(filters, reads_index(connection, filters)))
    if cursor:
        query = query.where(*_beyond(*unpack_time_and_id(cursor), oldest_first=oldest_first))
    # Both directions read the same index, one of them backwards.
    order = (debates.c.updated_at, debates.c.id.desc()) if oldest_first else (debates.c.updated_at.desc(), debates.c.id)
    query = query.order_by(*order).limit(limit + 1)
    read = connection.execute(query).mappings().all()
    found = [debate_of(row) for row in read[:limit]]
    return found, cursor_of(found[-1]) if found and len(read) > limit else None


def rows_sorted(
    connection: Connection, filters: Filters, sort: str, limit: int, offset: int
) -> tuple[list[Debate], bool]:
    """A page in another order than that of activity, and whether there is more. No index has these orders: Postgres
    keeps the first rows while it reads all that match."""
    by_index = bool(filters.q and filters.texts) or reads_index(connection, filters)
    query = select(*debate_columns).where(*_conditions(filters, by_index))
    query = query.order_by(_SORTS[sort], debates.c.id).limit(limit + 1).offset(offset)
    read = connection.execute(query).mappings().all()
    return [debate_of(row) for row in read[:limit]], len(read) > limit


def _beyond(
    updated_at: datetime | BindParameter[datetime], debate_id: UUID | BindParameter[UUID], oldest_first: bool = False
) -> list[ColumnElement[bool]]:
    """What comes after the page cursor. The first condition is where the index scan starts; the OR alone would read all
    pages before this one again."""
    at, same = debates.c.updated_at, debates.c.updated_at == updated_at
    if oldest_first:
        return [at >= updated_at, or_(at > updated_at, and_(same, debates.c.id < debate_id))]
    return [at <= updated_at, or_(at < updated_at, and_(same, debates.c.id > debate_id))]


def count_by_status(connection: Connection, filters: Filters, at_most: int) -> dict[str, int]:
    """How many debates of each status match the other filters, each counted up to `at_most`."""
    by_index = reads_index(connection, filters)
    others = _conditions(replace(filters, status=()), by_index)
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


def reads_index(connection: Connection, filters: Filters) -> bool:
    """Whether an index names what this search finds."""
    with driver_of(connection) as driver:
        return _is_search(filters) and few_match(driver, filters)


def _conditions(filters: Filters, by_index: bool = False) -> list[_Condition]:
    conditions = [*_in_places(filters), *_labelled(filters, by_index), *_with_results(filters)]
    if filters.debate_type:
        conditions.append(debates.c.debate_type == filters.debate_type)
    if filters.format:
        conditions.append(debates.c.format == filters.format)
    if filters.q:
        conditions.append(search.is_found(filters.q, by_index, filters.texts))
    if filters.id:
        conditions.append(debates.c.id.between(*ids_beginning_with(filters.id)))
    if filters.experiment:
        conditions.append(debates.c.experiment_id == filters.experiment)
    if filters.pending_first_opponent:
        can_be_joined = _can_be_joined_by(filters.asked_by) if filters.asked_by else is_unheld
        conditions += [wants_opponent, is_started, can_be_joined]
    return conditions


def _in_places(filters: Filters) -> list[_Condition]:
    """One state or status is not asked for as one of several: indexes are found by the plain conditions."""
    states = [and_(*_in_state(state)) for state in filters.state]
    conditions: list[_Condition] = _in_state(filters.state[0]) if len(states) == 1 else [or_(*states)] if states else []
    if filters.status:
        conditions.append(or_(*(debates.c.status == status for status in filters.status)))
    return conditions


def _with_results(filters: Filters) -> list[_Condition]:
    conditions: list[_Condition] = []
    if filters.winner:
        conditions += [is_judged, text("debates.verdict ->> 'winner' = :winner").bindparams(winner=filters.winner)]
    if filters.error:
        conditions.append(debates.c.last_error.is_not(None))
    if filters.since:
        conditions.append(debates.c.updated_at >= filters.since)
    if filters.until:
        conditions.append(debates.c.updated_at < filters.until)
    return conditions


def _labelled(filters: Filters, by_index: bool) -> list[_Condition]:
    """By the index of labels, or by looking at each debate in list order."""
    if by_index and filters.labels:
        return [debates.c.id.in_(_ids_by_label(filters.labels))]
    conditions: list[_Condition] = []
    if filters.player:
        seats = (debates.c.seats[seat.role]["player"].astext == filters.player for seat in Seat)
        conditions.append(or_(*seats))
    if filters.tag:
        conditions.append(debates.c.tags.contains([filters.tag]))
    return conditions


def _ids_by_label(labels: list[str]) -> Select[Any]:
    return select(debate_titles.c.debate_id).where(debate_titles.c.labels.contains(labels))


def _can_be_joined_by(agent_id: UUID) -> TextClause:
    seat = "coalesce(debates.seats -> '{0}' ->> 'agent_id', debates.seats -> '{0}' ->> 'held_by')"
    holder = seat.format("opponent")
    others = " AND ".join(f"{seat.format(role)} IS DISTINCT FROM :asked_by" for role in ("proposer", "arbitrator"))
    return text(f"({holder} IS NULL OR {holder} = :asked_by) AND {others}").bindparams(asked_by=str(agent_id))


def _in_state(state: State) -> list[_Condition]:
    if state is State.CLOSED:
        return [is_closed]
    seat_of = {State.AWAITING_PROPOSER: Seat.PROPOSER, State.AWAITING_OPPONENT: Seat.OPPONENT}
    seat = seat_of.get(state, Seat.ARBITRATOR)
    conditions: list[_Condition] = [is_open, debates.c.next_actor == seat.actor]
    if seat is Seat.ARBITRATOR:
        conditions.append(debates.c.intervention_open.is_(state is State.INTERVENTION_PENDING))
    return conditions


def cursor_of(debate: Debate) -> str:
    assert debate.updated_at is not None  # noqa: S101 (read from a column that is never NULL)
    return pack_time_and_id(debate.updated_at, debate.id)


def _is_search(filters: Filters) -> bool:
    return bool(filters.q or filters.labels)


def few_match(connection: "psycopg.Connection[Any]", filters: Filters) -> bool:
    """Whether the planner expects so few debates with this title or these labels that their indexes are faster."""
    if filters.q and filters.texts:
        return few_titles_match(connection, filters.q) and search.few_turns_match(connection, filters.q)
    if filters.labels and _label_estimate(tuple(filters.labels)).rows_on(connection) <= FEW_TITLES:
        return True
    return bool(filters.q) and few_titles_match(connection, filters.q or "")


def few_titles_match(connection: "psycopg.Connection[Any]", part: str) -> bool:
    """Whether the planner expects so few matches that the index is faster."""
    return search.title_estimate(part).rows_on(connection) <= FEW_TITLES


@lru_cache(maxsize=256)
def _label_estimate(labels: tuple[str, ...]) -> RowEstimate:
    return RowEstimate(_ids_by_label(list(labels)))


@lru_cache(maxsize=256)
def _estimate(filters: Filters) -> RowEstimate:
    if not filters.q:
        return RowEstimate(_matching(filters))
    # Postgres has statistics of the titles in their own table.
    others = _conditions(replace(filters, q=None))
    named = search.ids_by_indexed_text if filters.texts else search.ids_by_title
    return RowEstimate(select(debates.c.id).where(*others, debates.c.id.in_(named(filters.q))))
