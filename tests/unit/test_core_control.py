"""Stop, pause and resume, over every status."""

from copy import deepcopy

import pytest
from core_builders import a_debate, says_everything

from app.core import control
from app.core.debate import State, Status, StopReason
from app.core.errors import ActionNotAllowed

CLOSED = (Status.COMPLETED, Status.STOPPED)
REFUSED, NOTHING = "refused", "nothing to do"


def standing(status):
    """A debate of this status in the middle of an intervention, if it is open at all."""
    if status in CLOSED:
        return a_debate(State.CLOSED, status=status, stop_note="The first word")
    error = {"last_error": "It broke", "attempts": 5} if status is Status.FAILED else {}
    return a_debate(State.INTERVENTION_PENDING, status=status, **error)


def test_the_tables_below_know_every_status():
    assert {status.value for status in Status} == {"created", "running", "paused", "completed", "stopped", "failed"}


@pytest.mark.parametrize("status", ["created", "running", "paused", "failed"])
def test_stop_closes_an_open_debate_and_keeps_the_note(status):
    before = standing(Status(status))

    after = control.stop(before, "Enough")

    assert (after.status, after.stop_reason, after.stop_note) == (Status.STOPPED, StopReason.MANUAL_STOP, "Enough")
    assert (after.state, after.intervention_open) == (State.CLOSED, False)
    assert (after.cursor, after.turn_count, after.last_error) == (before.cursor, before.turn_count, before.last_error)


def test_stop_needs_no_note():
    assert control.stop(standing(Status.RUNNING), None).stop_note is None


@pytest.mark.parametrize("status", CLOSED)
def test_stopping_a_closed_debate_is_harmless(status):
    debate = standing(status)
    assert control.stop(debate, "Again") is debate


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("created", "paused"),
        ("running", "paused"),
        ("paused", NOTHING),
        ("failed", REFUSED),
        ("completed", REFUSED),
        ("stopped", REFUSED),
    ],
)
def test_pause_holds_an_active_debate(status, outcome):
    check(control.pause, standing(Status(status)), outcome)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("created", NOTHING),
        ("running", NOTHING),
        ("paused", "running"),
        ("failed", "running"),
        ("completed", REFUSED),
        ("stopped", REFUSED),
    ],
)
def test_resume_goes_on_with_a_paused_or_failed_debate(status, outcome):
    check(control.resume, standing(Status(status)), outcome)


def check(do, debate, outcome):
    before = deepcopy(debate)
    if outcome == REFUSED:
        with pytest.raises(ActionNotAllowed) as caught:
            do(debate)
        says_everything(caught.value, debate)
        assert debate.status.value in caught.value.message
        assert caught.value.context["allowed_roles"] == []
    elif outcome == NOTHING:
        assert do(debate) is debate
    else:
        after = do(debate)
        assert after.status == outcome
        assert (after.cursor, after.intervention_open) == (before.cursor, before.intervention_open)
        assert after.stop_reason is None
    assert debate == before


def test_a_failed_debate_resumes_from_its_cursor_with_its_failures_forgotten():
    before = a_debate(State.AWAITING_OPPONENT, status=Status.FAILED, last_error="It broke", attempts=5)
    after = control.resume(before)
    assert after == before.evolve(status=Status.RUNNING, last_error=None, attempts=0)


def test_a_paused_debate_resumes_as_it_was():
    before = a_debate(State.AWAITING_ARBITRATOR)
    assert control.resume(control.pause(before)) == before


def test_a_refusal_suggests_what_can_be_done_instead():
    with pytest.raises(ActionNotAllowed) as failed:
        control.pause(standing(Status.FAILED))
    with pytest.raises(ActionNotAllowed) as closed:
        control.pause(standing(Status.STOPPED))
    assert "Resume" in failed.value.suggestion
    assert "new debate" in closed.value.suggestion
