"""What a debate is doing right now, as an operator wants it told: thinking is not waiting, and waiting is not stuck."""

from enum import StrEnum

from app.core.debate import Debate, Status

STALLED_AFTER_SECONDS = 30.0
"""A healthy worker takes a queued turn in a fraction of this, and the sweeper repairs a lost task within it."""


class Activity(StrEnum):
    GENERATING = "generating"  # a worker holds the turn, and its player thinks
    QUEUED = "queued"  # a worker's turn that no worker has taken yet
    STALLED = "stalled"  # queued for so long that something must be wrong
    RETRYING = "retrying"  # the player failed and is tried again after a delay
    WAITING = "waiting"  # for somebody outside: an external seat, or a ruling after an intervention
    PAUSED = "paused"
    FAILED = "failed"
    CLOSED = "closed"


_HELD = {Status.PAUSED: Activity.PAUSED, Status.FAILED: Activity.FAILED}


def activity_of(debate: Debate, *, claim_is_live: bool, backing_off: bool, seconds_due: float) -> Activity:
    """`seconds_due`: for how long a worker could have taken the turn."""
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
