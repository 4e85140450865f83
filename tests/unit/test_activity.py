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


def test_an_external_seat_waits_for_a_person_however_long_it_takes():
    assert told(a_debate(workers=NO_SEAT), seconds_due=1e6) is Activity.WAITING


def test_an_open_intervention_waits_for_a_person_even_where_a_player_judges():
    assert told(a_debate(State.INTERVENTION_PENDING, workers=EVERY_SEAT)) is Activity.WAITING


@pytest.mark.parametrize(
    ("changes", "activity"),
    [({"status": Status.PAUSED}, Activity.PAUSED), ({"status": Status.FAILED}, Activity.FAILED)],
    ids=["paused", "failed"],
)
def test_what_is_held_is_not_called_stalled(changes, activity):
    assert told(a_debate(workers=EVERY_SEAT, **changes), seconds_due=1e6) is activity


def test_what_is_closed_does_nothing():
    assert told(a_debate(State.CLOSED, workers=EVERY_SEAT)) is Activity.CLOSED
