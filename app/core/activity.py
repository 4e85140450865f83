"""What a debate is doing right now: thinking, waiting or stuck."""

from enum import StrEnum

from app.core.debate import Debate, Status

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


_HELD = {Status.PAUSED: Activity.PAUSED, Status.FAILED: Activity.FAILED}


def activity_of(debate: Debate, *, claim_is_live: bool, backing_off: bool, seconds_due: float) -> Activity:
    """`seconds_due`: how long the turn has been due."""
    if debate.is_closed:
        return Activity.CLOSED
    if debate.status in _HELD:
        return _HELD[debate.status]
    if not debate.awaits_worker:
        return Activity.WAITING
    if claim_is_live:
        return Activity.GENERATING
    if backing_off:
        return Activity.RETRYING
    return Activity.STALLED if seconds_due >= STALLED_AFTER_SECONDS else Activity.QUEUED
