"""Thinking, waiting, retrying and stuck are told apart."""

import pytest
from core_builders import EVERY_SEAT, NO_SEAT, a_debate

from app.core.activity import STALLED_AFTER_SECONDS, Activity, activity_of
from app.core.debate import State, Status


def told(debate, claim_is_live=False, backing_off=False, seconds_due=0.0):
    return activity_of(debate, claim_is_live=claim_is_live, backing_off=backing_off, seconds_due=seconds_due)


@pytest.mark.parametrize(
    ("facts", "activity"),
    [
        ({"claim_is_live": True}, Activity.GENERATING),
        ({"claim_is_live": True, "seconds_due": 1e6}, Activity.GENERATING),
        ({"backing_off": True}, Activity.RETRYING),
        ({}, Activity.QUEUED),
        ({"seconds_due": STALLED_AFTER_SECONDS - 0.1}, Activity.QUEUED),
        ({"seconds_due": STALLED_AFTER_SECONDS}, Activity.STALLED),
    ],
    ids=["claimed", "claimed-long-due", "backing-off", "queued", "nearly-stalled", "stalled"],
)
def test_a_turn_of_a_workers_player(facts, activity):
    assert told(a_debate(workers=EVERY_SEAT), **facts) is activity


@pytest.mark.parametrize(
    ("debate", "activity"),
    [
        (a_debate(workers=NO_SEAT), Activity.WAITING),
        (a_debate(State.INTERVENTION_PENDING, workers=EVERY_SEAT), Activity.WAITING),
        (a_debate(workers=EVERY_SEAT, status=Status.PAUSED), Activity.PAUSED),
        (a_debate(workers=EVERY_SEAT, status=Status.FAILED), Activity.FAILED),
        (a_debate(State.CLOSED, workers=EVERY_SEAT), Activity.CLOSED),
    ],
    ids=["external", "intervention", "paused", "failed", "closed"],
)
def test_where_no_worker_is_awaited_nothing_is_called_stalled_however_long_it_takes(debate, activity):
    assert told(debate, seconds_due=1e6) is activity
