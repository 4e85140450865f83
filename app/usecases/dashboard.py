"""The dashboard's list of debates and page of one debate, each read in one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.core.activity import Activity, activity_of
from app.core.debate import Debate, Turn
from app.core.verdicts import Verdict
from app.store import events, listing, overview, turns
from app.store.engine import Connection, driver_of
from app.store.listing import Filters
from app.store.overview import NextWork
from app.usecases.formats import require_known
from app.usecases.read import existing, snapshot
from app.usecases.services import Services

EXACT_COUNT = 1_000
"""Beyond it the page says "1000+": counting further would cost more than the page."""
FEW_COUNTED = 50
"""The same, where texts are searched in list order: counting is slower there."""

MOST_DIGITS = 10

MOST_VERDICTS = 1_000
"""All rounds of any debate that was run."""


@dataclass(frozen=True, slots=True)
class DashboardRow:
    debate: Debate
    activity: Activity
    since: datetime | None
    until: datetime | None
    worker_id: str | None
    attempts_allowed: int | None = None


@dataclass(frozen=True, slots=True)
class ListPage:
    debates: list[DashboardRow]
    next_cursor: str | None
    previous_cursor: str | None
    counts: dict[str, int]
    most: int
    now: datetime

    def total(self, statuses: Sequence[str]) -> int:
        """The length of the list of these statuses, or of all; more than `most` where counting stopped."""
        return sum(self.counts[status] for status in statuses or self.counts)


@dataclass(frozen=True, slots=True)
class DebateView:
    row: DashboardRow
    motion: Turn
    arguments: tuple[Turn, ...]
    verdicts: list[tuple[int | None, Verdict]]
    rounds: list[tuple[int, int]]
    last_turn_id: UUID
    now: datetime


def list_page(
    services: Services,
    filters: Filters,
    limit: int,
    cursor: str | None,
    oldest_first: bool = False,
    backwards: bool = False,
    sort: str | None = None,
) -> ListPage:
    require_known(services, filters.format)
    with snapshot(services) as connection:
        with driver_of(connection) as driver:
            filters = listing.planned(driver, filters)
        if sort is None:
            found, later, earlier = _by_activity(connection, filters, limit, cursor, oldest_first, backwards)
        else:
            found, later, earlier = _sorted(connection, filters, limit, cursor, sort)
        most = FEW_COUNTED if filters.reads_texts else EXACT_COUNT
        counts = listing.count_by_status(connection, filters, most + 1)
        now = overview.clock(connection)
        rows = _rows(connection, found, now)
    return ListPage(rows, later, earlier, counts, most, now)


_Found = tuple[list[Debate], str | None, str | None]


def _by_activity(
    connection: Connection, filters: Filters, limit: int, cursor: str | None, oldest_first: bool, backwards: bool
) -> _Found:
    if not (backwards and cursor):
        found, later = listing.rows(connection, filters, limit, cursor, oldest_first)
        return found, later, listing.cursor_of(found[0]) if cursor and found else None
    found, more = listing.rows(connection, filters, limit, cursor, not oldest_first)
    found.reverse()
    if not found:
        return [], None, None
    return found, listing.cursor_of(found[-1]), listing.cursor_of(found[0]) if more else None


def _sorted(connection: Connection, filters: Filters, limit: int, cursor: str | None, sort: str) -> _Found:
    """Pages are counted: a page cursor is how many debates come before."""
    before = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() and len(cursor) < MOST_DIGITS else 0
    found, more = listing.rows_sorted(connection, filters, sort, limit, before)
    return found, str(before + limit) if more else None, str(max(before - limit, 0)) if before else None


def debate_page(services: Services, debate_id: UUID, first_seq: int | None, most_turns: int) -> DebateView:
    with snapshot(services) as connection:
        debate = existing(connection, debate_id)
        if first_seq is None:
            first_seq = debate.turn_count - most_turns + 1
        motion = turns.motion(connection, debate_id)
        # The motion is shown separately.
        arguments = turns.after(connection, debate_id, max(first_seq, 2) - 1)
        verdicts = turns.verdicts(connection, debate_id, MOST_VERDICTS)
        rounds = turns.rounds(connection, debate_id)
        [last] = turns.tail(connection, debate_id, 1)
        now = overview.clock(connection)
        [row] = _rows(connection, [debate], now)
    return DebateView(row, motion, arguments, verdicts, rounds, last.id, now)


def _rows(connection: Connection, found: Sequence[Debate], now: datetime) -> list[DashboardRow]:
    schedules = overview.schedules(connection, [debate.id for debate in found])
    failing = [debate.id for debate in found if debate.attempts and not debate.is_closed]
    allowed = events.attempts_allowed(connection, failing) if failing else {}
    return [_with_activity(debate, schedules[debate.id], now, allowed.get(debate.id)) for debate in found]


def _with_activity(debate: Debate, schedule: NextWork, now: datetime, attempts_allowed: int | None) -> DashboardRow:
    # A debate that has lost its schedule is shown as due since its last change, so that the operator notices it.
    due_at = schedule.due_at or debate.updated_at or now
    activity = activity_of(
        debate,
        claim_is_live=schedule.claimed_by is not None,
        backing_off=schedule.next_attempt_at is not None and schedule.next_attempt_at > now,
        seconds_due=(now - due_at).total_seconds(),
    )
    since = {
        Activity.GENERATING: schedule.claimed_at,
        Activity.QUEUED: due_at,
        Activity.STALLED: due_at,
    }.get(activity, debate.updated_at)
    until = schedule.next_attempt_at if activity is Activity.RETRYING else None
    return DashboardRow(debate, activity, since, until, schedule.claimed_by, attempts_allowed)
