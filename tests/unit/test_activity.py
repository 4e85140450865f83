"""Thinking, waiting, retrying and stuck are told apart."""

import pytest
from core_builders import EVERY_SEAT, NO_SEAT, a_debate

from app.core.activity import STALLED_AFTER_SECONDS, Activity, activity_of
from app.core.debate import State, Status

OF_WORKERS = a_debate(workers=EVERY_SEAT)
LONG_DUE = {"seconds_due": 1e6}


@pytest.mark.parametrize(
    ("debate", "facts", "activity"),
    [
        pytest.param(OF_WORKERS, {"claim_is_live": True}, Activity.GENERATING, id="claimed"),
        pytest.param(OF_WORKERS, {"claim_is_live": True, **LONG_DUE}, Activity.GENERATING, id="claimed-long-due"),
        pytest.param(OF_WORKERS, {"backing_off": True}, Activity.RETRYING, id="backing-off"),
        pytest.param(OF_WORKERS, {}, Activity.QUEUED, id="queued"),
        pytest.param(OF_WORKERS, {"seconds_due": STALLED_AFTER_SECONDS - 0.1}, Activity.QUEUED, id="nearly-stalled"),
        pytest.param(OF_WORKERS, {"seconds_due": STALLED_AFTER_SECONDS}, Activity.STALLED, id="stalled"),
        pytest.param(a_debate(workers=NO_SEAT), LONG_DUE, Activity.WAITING, id="external"),
        pytest.param(
            a_debate(State.INTERVENTION_PENDING, workers=EVERY_SEAT), LONG_DUE, Activity.WAITING, id="intervention"
        ),
        pytest.param(OF_WORKERS.evolve(status=Status.PAUSED), LONG_DUE, Activity.PAUSED, id="paused"),
        pytest.param(OF_WORKERS.evolve(status=Status.FAILED), LONG_DUE, Activity.FAILED, id="failed"),
        pytest.param(a_debate(State.CLOSED, workers=EVERY_SEAT), LONG_DUE, Activity.CLOSED, id="closed"),
    ],
)
def test_what_a_debate_does_right_now(debate, facts, activity):
    given = {"claim_is_live": False, "backing_off": False, "seconds_due": 0.0, **facts}
    assert activity_of(debate, **given) is activity
