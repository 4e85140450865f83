"""A task that goes on remembers the debate instead of reading it again; what it remembers is what is stored."""

from dataclasses import replace
from uuid import UUID

import pytest
from harness import Place, numbers

from app.core.access import OPERATOR
from app.core.brief import Thought
from app.core.debate import Limits, TurnType, Usage, Verdict
from app.core.formats import Format
from app.core.players import SeatSetup
from app.core.seats import Seat
from app.usecases import advance
from app.usecases.advance import RECENT_TURNS, HeldTurn
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services

SCRIPTED = {seat: SeatSetup("scripted", persona="calm") for seat in Seat}
VERDICT = Verdict("tie", {"proposer": 5, "opponent": 5.5}, "Even.")


def started(services: Services, form: Format) -> HeldTurn:
    limits = Limits(max_rounds=100, max_seconds=1000, max_total_tokens=10**9, max_cost_usd=1000)
    new = NewDebate("Cars", "general_debate", "Ban cars", f"request-{next(numbers)}", format=form, seats=SCRIPTED)
    return claimed(services, create_debate(services, OPERATOR, replace(new, limits=limits)).debate.id)


def claimed(services: Services, debate_id: UUID) -> HeldTurn:
    held = advance.claim(services, debate_id, "worker")
    assert held is not None
    return held


def went_on(services: Services, held: HeldTurn, number: int) -> HeldTurn:
    judges = held.brief.seat is Seat.ARBITRATOR
    thought = Thought(
        TurnType.RULING if judges else TurnType.CLAIM,
        f"thought {number}",
        VERDICT if judges else None,
        usage=Usage(number, 1, 0.1 * number, number),
    )
    following = advance.commit(services, held, thought, go_on=True)
    assert following is not None
    return following


@pytest.mark.parametrize("form", list(Format))
def test_a_task_that_goes_on_knows_what_a_new_claim_would_read(services: Services, form: Format) -> None:
    held = started(services, form)
    for number in range(2 * RECENT_TURNS + 3):
        held = went_on(services, held, number)
        advance.release(services, held)
        fresh = claimed(services, held.debate.id)
        assert held.brief == fresh.brief
        held = replace(held, token=fresh.token)  # goes on with what it remembers


def test_a_task_that_fails_first_remembers_no_failure_after_its_turn(services: Services, place: Place) -> None:
    held = started(services, Format.ROUNDS)
    advance.record_failure(services, held, "no answer", permanent=False, retry_after_seconds=None, jitter=0)
    place.sql("UPDATE debates SET next_attempt_at = now()")
    held = claimed(services, held.debate.id)
    assert (held.debate.attempts, held.debate.last_error) == (1, "no answer")
    held = went_on(services, held, 1)
    assert (held.debate.attempts, held.debate.last_error) == (0, None)
    advance.release(services, held)
    fresh = claimed(services, held.debate.id)
    assert held.debate.evolve(next_attempt_at=None) == fresh.debate
    assert held.brief.recent == fresh.brief.recent


@pytest.mark.parametrize("form", list(Format))
def test_a_brief_holds_the_motion_once_and_never_more_than_the_last_turns(services: Services, form: Format) -> None:
    held = started(services, form)
    for number in range(2 * RECENT_TURNS):
        seqs = [turn.seq for turn in held.brief.recent]
        first = max(2, number + 2 - RECENT_TURNS)
        assert seqs == list(range(first, number + 2))
        assert (held.brief.motion.seq, held.brief.motion.type) == (1, TurnType.MOTION)
        held = went_on(services, held, number)


def test_each_turn_answers_the_one_before_it_whether_remembered_or_read(services: Services, place: Place) -> None:
    held = started(services, Format.DIALOGUE)
    for number in range(10):
        held = went_on(services, held, number)
        if number % 3 == 0:
            advance.release(services, held)
            held = claimed(services, held.debate.id)
    rows = place.sql("SELECT id, parent_id FROM turns ORDER BY seq")
    assert [parent for _, parent in rows] == [None, *(turn_id for turn_id, _ in rows[:-1])]
