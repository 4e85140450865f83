"""What the dashboard shows: debates with what they are doing right now. Each answer comes from one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.core.activity import Activity, activity_of
from app.core.debate import Debate, Turn, Verdict
from app.core.errors import DebateNotFound, InvalidInput
from app.store import debates, listing, turns, watching
from app.store.engine import Connection
from app.store.listing import Filters
from app.store.watching import Schedule
from app.usecases.read import snapshot
from app.usecases.services import Services

EXACT_COUNT = 1_000
"""A chip says "1000+" beyond it: counting further would cost more than the page."""

MOST_VERDICTS = 60
"""What a small chart can show."""


@dataclass(frozen=True, slots=True)
class Watched:
    debate: Debate
    activity: Activity
    since: datetime | None
    """When the activity began."""
    until: datetime | None
    """When a retry is due."""
    worker_id: str | None
    """Who thinks."""


@dataclass(frozen=True, slots=True)
class WatchedPage:
    debates: list[Watched]
    next_cursor: str | None
    counts: dict[str, int]
    """Of each status, under the other filters; never more than EXACT_COUNT + 1."""
    now: datetime

    def total(self, status: str | None) -> int:
        """What the list holds; more than EXACT_COUNT where it was not counted to the end."""
        return self.counts[status] if status else sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class WatchedDebate:
    watched: Watched
    motion: Turn
    arguments: tuple[Turn, ...]
    """From the seq that was asked for, without the motion."""
    verdicts: list[tuple[int, Verdict]]
    """The last ones, each with its round."""
    last_turn_id: UUID
    now: datetime


def watch_list(
    services: Services, filters: Filters, limit: int, cursor: str | None, oldest_first: bool = False
) -> WatchedPage:
    with snapshot(services) as connection:
        try:
            found, next_cursor = listing.rows(connection, filters, limit, 0, cursor, oldest_first)
        except listing.BadCursor:
            raise InvalidInput("cursor", "is not a cursor that this list gave out") from None
        counts = listing.count_by_status(connection, filters, EXACT_COUNT + 1)
        now = watching.clock(connection)
        watched = _watched(connection, found, now)
    return WatchedPage(watched, next_cursor, counts, now)


def watch_debate(services: Services, debate_id: UUID, first_seq: int | None, most_turns: int) -> WatchedDebate:
    """The turns from `first_seq` on; without one, the last `most_turns`."""
    with snapshot(services) as connection:
        debate = debates.get(connection, debate_id)
        if debate is None:
            raise DebateNotFound(debate_id)
        if first_seq is None:
            first_seq = debate.turn_count - most_turns + 1
        motion = turns.motion(connection, debate_id)
        # The motion is shown by itself.
        arguments = turns.after(connection, debate_id, max(first_seq, 2) - 1)
        verdicts = turns.verdicts(connection, debate_id, MOST_VERDICTS)
        [last] = turns.tail(connection, debate_id, 1)
        now = watching.clock(connection)
        [watched] = _watched(connection, [debate], now)
    return WatchedDebate(watched, motion, arguments, verdicts, last.id, now)


def _watched(connection: Connection, found: Sequence[Debate], now: datetime) -> list[Watched]:
    schedules = watching.schedules(connection, [debate.id for debate in found])
    return [_with_activity(debate, schedules[debate.id], now) for debate in found]


def _with_activity(debate: Debate, schedule: Schedule, now: datetime) -> Watched:
    # A row that lost its schedule is exactly what an operator must see: due since it last moved.
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
    return Watched(debate, activity, since, until, schedule.claimed_by)
