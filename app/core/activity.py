"""What a debate is doing right now: thinking, waiting or stuck."""

from enum import StrEnum

from app.core.debate import Debate
from app.core.seat_view import Awaited, turn_view

STALLED_AFTER_SECONDS = 30.0
"""A healthy worker claims a due turn in a fraction of this, even when its task was lost."""


class Activity(StrEnum):
    GENERATING = "generating"  # a worker has claimed the turn, and its player thinks
    QUEUED = "queued"  # due, and not yet claimed
    STALLED = "stalled"  # queued for longer than STALLED_AFTER_SECONDS: no worker runs, or something is broken
    RETRYING = "retrying"  # the player failed; the next attempt comes after a delay
    WAITING = "waiting"  # for an external seat, or for a ruling after an intervention
    PAUSED = "paused"
    FAILED = "failed"
    CLOSED = "closed"


_WITHOUT_A_WORKER = {
    Awaited.NOTHING: Activity.CLOSED,
    Awaited.START: Activity.WAITING,
    Awaited.RESUMPTION: Activity.PAUSED,
    Awaited.REPAIR: Activity.FAILED,
    Awaited.OUTSIDE: Activity.WAITING,
    Awaited.RULING: Activity.WAITING,
}


def activity_of(debate: Debate, *, claim_is_live: bool, backing_off: bool, seconds_due: float) -> Activity:
    """`seconds_due`: how long the turn has been due."""
    awaited = turn_view(debate).awaited
    if awaited in _WITHOUT_A_WORKER:
        return _WITHOUT_A_WORKER[awaited]
    if claim_is_live:
        return Activity.GENERATING
    if backing_off:
        return Activity.RETRYING
    return Activity.STALLED if seconds_due >= STALLED_AFTER_SECONDS else Activity.QUEUED
