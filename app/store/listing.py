"""The list of debates, by last activity, with filters and a search. Pages are read by offset or by page cursor; only
pages by cursor never skip or repeat a debate while others are updated."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import psycopg
from cachetools import TTLCache
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
from app.store.engine import Engine
from app.store.ids import ids_beginning_with
from app.store.page_cursors import pack_time_and_id, unpack_time_and_id
from app.store.rows import debate_columns, debate_of
from app.store.statements import Statement
from app.store.tables import debates, is_closed, is_judged, is_open, is_started, is_unheld, wants_opponent

_Condition = ColumnElement[bool] | TextClause

EXACT_TOTAL = 10_000
"""Totals are counted up to this and estimated beyond: counting further would cost more than the page itself."""
FEW = 2_000
"""A search that finds at most so many titles or turns is read by its index. Of more, the list in its order has enough
for a page sooner."""
MOST_SORTED = 1_000
"""Of a search in texts that finds many, so many of the newest are sorted by anything but activity."""
KEPT_SECONDS = 10
_estimates: "TTLCache[Filters, int]" = TTLCache(256, KEPT_SECONDS)
"""Totals beyond EXACT_TOTAL. While one is kept, pages with the same filters count nothing, unless one is the last."""

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
    """Searches for `q` in the words of the turns, too."""
    pending_first_opponent: bool = False
    experiment: UUID | None = None
    asked_by: UUID | None = None
    """The agent that asks for debates without an opponent: it can join if that seat is bound to it or free, and it
    holds no other seat."""
    player: str | None = None
    """In any seat."""
    tag: str | None = None
    winner: str | None = None
    error: bool = False
    since: datetime | None = None
    until: datetime | None = None
    """Last activity: not before `since`, and before `until`."""
    finds_few: bool = False
    """The search does, so that it is read by its index (`planned`)."""

    @property
    def labels(self) -> list[str]:
        """As the table `debate_titles` has them."""
        named = (("player", self.player), ("tag", self.tag))
        return [f"{kind}:{value}" for kind, value in named if value is not None]

    @property
    def others(self) -> "Filters":
        """Without the search."""
        return replace(self, q=None, texts=False, player=None, tag=None, finds_few=False)

    @property
    def reads_texts(self) -> bool:
        """A page reads the words of one debate after another; counting would read those of all."""
        return bool(self.q) and self.texts and not self.finds_few


@dataclass(frozen=True, slots=True)
class CountedPage:
    debates: list[Debate]
    total: int
    total_is_estimate: bool
    next_cursor: str | None


def page(engine: Engine, filters: Filters, limit: int, offset: int, cursor: str | None) -> CountedPage:
    given: dict[str, Any] = {"limit": limit + 1, "offset": offset}
    if cursor:
        given["at"], given["beyond"] = unpack_time_and_id(cursor)
    with engine.autocommit() as connection:
        read, total, is_estimate = _with_estimate(connection, filters, given) or _counted(connection, filters, given)
    found = [debate_of(dict(zip(_NAMES, row, strict=False))) for row in read[:limit]]
    next_cursor = cursor_of(found[-1]) if found and len(read) > limit else None
    return CountedPage(found, total, is_estimate, next_cursor)


_Read = tuple[list[tuple[Any, ...]], int, bool]
"""The rows of a page, the total, and whether it is an estimate."""


def _with_estimate(connection: "psycopg.Connection[Any]", filters: Filters, given: dict[str, Any]) -> _Read | None:
    """None where no estimate is kept, or this page is the last."""
    estimate = _estimates.get(filters)
    if estimate is None:
        return None
    read = _page_statement(filters, "at" in given).rows_on(connection, **given)
    return (read, estimate, True) if len(read) == given["limit"] else None


def _counted(connection: "psycopg.Connection[Any]", filters: Filters, given: dict[str, Any]) -> _Read:
    asked, filters = filters, planned(connection, filters)
    is_counted = not filters.reads_texts
    # Frequent, so one statement: every row carries the total.
    read = _page_statement(filters, "at" in given, is_counted).rows_on(connection, **given)
    if read:
        total = read[0][-1] if is_counted else given["offset"] + len(read)
    elif is_counted and (given["offset"] or "at" in given):
        total = _total_statement(filters).rows_on(connection)[0][0]
    else:
        total = 0
    if is_counted and total <= EXACT_TOTAL:
        return read, total, False
    [(plan,)] = _estimate_statement(asked).rows_on(connection)
    _estimates[asked] = max(int(plan[0]["Plan"]["Plan Rows"]), total)
    return read, _estimates[asked], True


@lru_cache(maxsize=256)
def _page_statement(filters: Filters, has_cursor: bool, with_total: bool = False) -> Statement:
    order = (debates.c.updated_at.desc(), debates.c.id)
    listed = _matching(filters)
    if has_cursor:
        at, beyond = bindparam("at", type_=debates.c.updated_at.type), bindparam("beyond", type_=Uuid)
        listed = listed.where(*_beyond(at, beyond))
    listed = listed.order_by(*order).limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=Integer))
    # Postgres computes columns before it sorts: so these are of the page's debates alone, where an index names them.
    query = select(*debate_columns).where(search.is_among(listed)).order_by(*order)
    if not filters.finds_few:
        query = listed.with_only_columns(*debate_columns)
    if with_total:
        query = query.add_columns(_count(filters).scalar_subquery())
    # A plan for any limit and offset would be to read and sort the whole table.
    return Statement(query, planned_each_time=True)


@lru_cache(maxsize=256)
def _total_statement(filters: Filters) -> Statement:
    # As with pages: a plan from when there were few debates would read all of them.
    return Statement(_count(filters), planned_each_time=True)


def _count(filters: Filters) -> Select[int]:
    """By the index of titles where the search finds many."""
    matching = _matching(filters)
    if (filters.q or filters.labels) and not filters.finds_few:
        others, named = filters.others, search.by_titles(filters.q, filters.labels)
        matching = named if others == Filters() else _matching(others).where(debates.c.id.in_(named))
    return select(func.count()).select_from(matching.limit(EXACT_TOTAL + 1).subquery())


@lru_cache(maxsize=256)
def _estimate_statement(filters: Filters) -> Statement:
    query = _matching(filters.others)
    # Postgres has statistics of titles, labels and words in separate tables.
    if filters.q and filters.texts:
        query = query.where(debates.c.id.in_(search.by_indexed_texts(filters.q)))
    elif filters.q or filters.labels:
        query = query.where(debates.c.id.in_(search.titled(filters.q, filters.labels)))
    return Statement(query, "EXPLAIN (FORMAT JSON) ")


def _matching(filters: Filters) -> Select[Any]:
    return select(debates.c.id).where(*_conditions(filters))


def planned(connection: "psycopg.Connection[Any]", filters: Filters) -> Filters:
    """With whether the search finds few debates."""
    is_search = bool(filters.q or filters.labels)
    return replace(filters, finds_few=is_search and not _beyond_few(filters).rows_on(connection))


@lru_cache(maxsize=256)
def _beyond_few(filters: Filters) -> Statement:
    return Statement(search.beyond(FEW, filters.q, filters.labels, filters.texts), planned_each_time=True)


def rows(
    connection: Connection, filters: Filters, limit: int, cursor: str | None, oldest_first: bool
) -> tuple[list[Debate], str | None]:
    """A page without its total, and the page cursor of the next one."""
    query = select(*debate_columns).where(*_conditions(filters))
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
    query = select(*debate_columns).where(*_conditions(filters))
    if filters.reads_texts:
        newest = _matching(filters).order_by(debates.c.updated_at.desc(), debates.c.id).limit(MOST_SORTED)
        query = select(*debate_columns).where(debates.c.id.in_(newest))
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
    # The order makes Postgres read the index of each status, where the limit stops it, and not the table.
    in_order = _matching(replace(filters, status=())).order_by(debates.c.updated_at.desc(), debates.c.id).limit(at_most)
    counts = [
        select(func.count()).select_from(in_order.where(debates.c.status == status.value).subquery())
        for status in Status
    ]
    found = connection.execute(select(*(count.scalar_subquery() for count in counts))).one()
    return dict(zip((status.value for status in Status), found, strict=True))


def _conditions(filters: Filters) -> list[_Condition]:
    conditions = [*_in_places(filters), *_searched(filters), *_with_results(filters)]
    if filters.debate_type:
        conditions.append(debates.c.debate_type == filters.debate_type)
    if filters.format:
        conditions.append(debates.c.format == filters.format)
    if filters.id:
        conditions.append(debates.c.id.between(*ids_beginning_with(filters.id)))
    if filters.experiment:
        conditions.append(debates.c.experiment_id == filters.experiment)
    if filters.pending_first_opponent:
        can_be_joined = _can_be_joined_by(filters.asked_by) if filters.asked_by else is_unheld
        conditions += [wants_opponent, is_started, can_be_joined]
    return conditions


def _searched(filters: Filters) -> list[_Condition]:
    conditions: list[_Condition] = []
    if filters.finds_few:
        conditions.append(search.is_named(filters.q, filters.labels, filters.texts))
    elif filters.q:
        has_title = search.has_title(filters.q)
        conditions.append(or_(has_title, search.has_texts(filters.q)) if filters.texts else has_title)
    if filters.player:
        seats = (debates.c.seats[seat.role]["player"].astext == filters.player for seat in Seat)
        conditions.append(or_(*seats))
    if filters.tag:
        conditions.append(debates.c.tags.contains([filters.tag]))
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
