"""Stop, pause and resume, over every status."""

import pytest
from core_builders import a_debate, says_everything

from app.core import control
from app.core.debate import State, Status, StopReason
from app.core.errors import ActionNotAllowed

CLOSED = (Status.COMPLETED, Status.STOPPED)
NOTHING = "nothing to do"


def standing(status):
    """A debate of this status in the middle of an intervention, if it is open at all."""
    if status in CLOSED:
        return a_debate(State.CLOSED, status=status, stop_note="The first word")
    error = {"last_error": "It broke", "attempts": 5} if status is Status.FAILED else {}
    return a_debate(State.INTERVENTION_PENDING, status=status, **error)


@pytest.mark.parametrize("note", ["Enough", None])
@pytest.mark.parametrize("status", ["created", "running", "paused", "failed"])
def test_stop_closes_an_open_debate_and_keeps_the_note(status, note):
    before = standing(Status(status))

    after = control.stop(before, note)

    assert (after.status, after.stop_reason, after.stop_note) == (Status.STOPPED, StopReason.MANUAL_STOP, note)
    assert (after.state, after.intervention_open) == (State.CLOSED, False)
    assert (after.cursor, after.turn_count, after.last_error) == (before.cursor, before.turn_count, before.last_error)


@pytest.mark.parametrize("status", CLOSED)
def test_stopping_a_closed_debate_is_harmless(status):
    debate = standing(status)
    assert control.stop(debate, "Again") is debate


PAUSE, RESUME = control.pause, control.resume


@pytest.mark.parametrize(
    ("do", "status", "outcome"),
    [
        (PAUSE, "created", "paused"),
        (PAUSE, "running", "paused"),
        (PAUSE, "paused", NOTHING),
        (PAUSE, "failed", "Resume it"),
        (PAUSE, "completed", "Start a new debate"),
        (PAUSE, "stopped", "Start a new debate"),
        (RESUME, "created", NOTHING),
        (RESUME, "running", NOTHING),
        (RESUME, "paused", "running"),
        (RESUME, "failed", "running"),
        (RESUME, "completed", "Start a new debate"),
        (RESUME, "stopped", "Start a new debate"),
    ],
)
def test_pause_and_resume_change_an_open_debate_or_suggest_what_can_be_done_instead(do, status, outcome):
    before = standing(Status(status))
    if outcome == NOTHING:
        assert do(before) is before
    elif outcome in set(Status):
        assert do(before) == before.evolve(status=Status(outcome), last_error=None, attempts=0)
    else:
        with pytest.raises(ActionNotAllowed) as caught:
            do(before)
        says_everything(caught.value, before)
        assert status in caught.value.message
        assert caught.value.context["allowed_roles"] == []
        assert caught.value.suggestion.startswith(outcome)
    assert before == standing(Status(status))
