"""A commit that its row refuses is made for the row as it is, after a pause, and not for ever."""

from typing import Any

import pytest
from claimed_debates import a_debate, until
from harness import Place
from situations.debates import pass_deadline
from situations.failing import locking
from worker_loop import PATIENCE_SECONDS, Gate, live_runner, with_settings

from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.retry import NotNow
from app.usecases import advance, control, outages
from app.usecases.services import Services
from worker import claim_loop

LONG_SECONDS = 300.0
pytestmark = pytest.mark.usefixtures("logs")
STATE = "SELECT status, stop_reason, claim_token FROM debates"
STOPPED = [("stopped", "time_limit", None)]


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of every commit, in order."""
    seen: list[str] = []
    real = advance.store_changes

    def counted(engine: Any, changes: Any) -> Any:
        stored = real(engine, changes)
        seen.extend(outcome.result.value for outcome in stored)
        return stored

    monkeypatch.setattr(advance, "store_changes", counted)
    return seen


@pytest.mark.parametrize("shuts_down", [False, True])
async def test_a_turn_that_waits_past_the_deadline_ends_the_debate_at_once_or_is_released_at_a_shutdown(
    services: Services, place: Place, outcomes: list[str], shuts_down: bool
) -> None:
    gate = Gate(NotNow("Wait.", LONG_SECONDS))
    a_debate(services, limits=Limits(max_seconds=LONG_SECONDS))
    async with live_runner(with_settings(services), lambda _: gate) as runner:
        await gate.is_asked(1)
        pass_deadline(place)
        if shuts_down:
            await runner.shut_down(0)
            assert place.sql(STATE) == [("running", None, None)]
        else:
            gate.let_go.set()
            await until(lambda: place.sql(STATE) == STOPPED, PATIENCE_SECONDS, "it has ended")
    assert outcomes == ["deadline_differs", "stored"]


async def test_a_closing_ruling_is_stored_although_its_debate_was_paused(
    services: Services, place: Place, outcomes: list[str]
) -> None:
    """A paused debate has no deadline that could have passed: the ruling after a time limit was asked for with one."""

    gate = Gate()
    debate = a_debate(services, limits=Limits(max_seconds=LONG_SECONDS, max_rounds=5))
    async with live_runner(with_settings(services), lambda _: gate):
        await gate.is_asked(1)
        gate.let_go.set()
        await gate.is_asked(2)
        pass_deadline(place)
        gate.let_go.set()
        await gate.is_asked(3)
        assert place.sql("SELECT closing, next_actor FROM debates") == [("time_limit", "judge")]
        control.pause_debate(services, OPERATOR, debate.id)
        outcomes.clear()
        gate.let_go.set()
        await until(lambda: place.sql(STATE) == STOPPED, PATIENCE_SECONDS, "the ruling is stored")
    assert outcomes == ["deadline_differs", "stored"]


async def test_a_row_that_stays_locked_is_given_up_and_its_turn_taken_again(
    services: Services, place: Place, outcomes: list[str], logs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "LONGEST_SECONDS", 0.5)
    monkeypatch.setattr(claim_loop, "COMPARE_EVERY_SECONDS", 0.5)

    def has_given_up() -> bool:
        return any(entry["event"] == "work.given_up" for entry in logs)

    gate = Gate()
    a_debate(services)
    async with live_runner(with_settings(services), lambda _: gate):
        await gate.is_asked(1)
        with locking(place):
            gate.let_go.set()
            await until(has_given_up, PATIENCE_SECONDS, "it has given up")
            assert set(outcomes) == {"row_locked"}
            assert len(outcomes) < 10
        await gate.is_asked(2)
        gate.let_go.set()
        taken = "SELECT turn_count FROM debates"
        await until(lambda: place.sql(taken) == [(2,)], PATIENCE_SECONDS, "the turn is taken")
