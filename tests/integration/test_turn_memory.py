"""A worker that goes on remembers the debate instead of reading it again; what it remembers is what is stored."""

from dataclasses import replace

import pytest
from claimed_debates import a_debate, claimed, end_backoff, fail, release, take_turn
from harness import Place

from app.core.brief import Thought
from app.core.debate import Limits, TurnType, Usage, Verdict
from app.core.players import SeatSetup
from app.core.schedules import BUILT_IN, DIALOGUE, DIRECT, ROUNDS, Schedule
from app.core.seats import Seat
from app.usecases.advance import RECENT_TURNS, Claim
from app.usecases.services import Services

SCRIPTED = {seat: SeatSetup("scripted", persona="calm") for seat in Seat}
GOING_ON = [form for form in BUILT_IN.values() if form.has_rounds]
"""Where there are no rounds the first turn is the last: nobody goes on."""
VERDICT = Verdict("tie", {"proposer": 5.5, "opponent": 5.5}, "Even.")


def started(services: Services, form: Schedule) -> Claim:
    rounds = 100 if form.has_rounds else None
    limits = Limits(max_rounds=rounds, max_seconds=1000, max_total_tokens=10**9, max_cost_usd=1000)
    return claimed(services, a_debate(services, schedule=form, seats=SCRIPTED, limits=limits))


def went_on(services: Services, claim: Claim, number: int) -> Claim:
    asks, judges = claim.brief.asks, claim.brief.seat is Seat.ARBITRATOR
    thought = Thought(
        TurnType.QUESTION if asks else TurnType.RULING if judges else TurnType.CLAIM,
        f"thought {number}",
        VERDICT if judges and not asks else None,
        usage=Usage(number, 1, 0.1 * number, number),
    )
    following = take_turn(services, claim, thought)
    assert following is not None
    return following


@pytest.mark.parametrize("form", GOING_ON)
def test_a_worker_that_goes_on_knows_what_a_new_claim_would_read(services: Services, form: Schedule) -> None:
    claim = started(services, form)
    for number in range(2 * RECENT_TURNS + 3):
        claim = went_on(services, claim, number)
        release(services, claim)
        fresh = claimed(services, claim.debate)
        assert claim.brief == fresh.brief
        claim = replace(claim, claim_token=fresh.claim_token)  # goes on with what it remembers


def test_a_worker_that_fails_first_remembers_no_failure_after_its_turn(services: Services, place: Place) -> None:
    claim = started(services, ROUNDS)
    fail(services, claim, "no answer")
    end_backoff(place, claim.debate)
    claim = claimed(services, claim.debate)
    assert (claim.debate.attempts, claim.debate.last_error) == (1, "no answer")
    claim = went_on(services, claim, 1)
    assert (claim.debate.attempts, claim.debate.last_error) == (0, None)
    release(services, claim)
    fresh = claimed(services, claim.debate)
    assert claim.debate.evolve(next_attempt_at=None) == fresh.debate
    assert claim.brief.recent == fresh.brief.recent


@pytest.mark.parametrize("form", GOING_ON)
def test_a_brief_holds_the_motion_once_and_never_more_than_the_last_turns(services: Services, form: Schedule) -> None:
    claim = started(services, form)
    for number in range(2 * RECENT_TURNS):
        seqs = [turn.seq for turn in claim.brief.turns]
        first = max(2, number + 2 - RECENT_TURNS)
        assert seqs == list(range(first, number + 2))
        if not form.simultaneous_seats:
            assert claim.brief.recent == claim.brief.turns
        assert (claim.brief.motion.seq, claim.brief.motion.type) == (1, TurnType.MOTION)
        claim = went_on(services, claim, number)


def test_without_rounds_a_brief_is_the_motion_and_nobody_goes_on(services: Services) -> None:
    assert set(BUILT_IN.values()) - set(GOING_ON) == {DIRECT}
    claim = started(services, DIRECT)
    assert (claim.brief.motion.type, claim.brief.turns, claim.brief.seat) == (TurnType.MOTION, (), Seat.ARBITRATOR)
    release(services, claim)
    fresh = claimed(services, claim.debate)
    assert fresh.brief == claim.brief
    assert take_turn(services, fresh, Thought(TurnType.RULING, "Even.", VERDICT)) is None


def test_each_turn_answers_the_one_before_it_whether_remembered_or_read(services: Services, place: Place) -> None:
    claim = started(services, DIALOGUE)
    for number in range(10):
        claim = went_on(services, claim, number)
        if number % 3 == 0:
            release(services, claim)
            claim = claimed(services, claim.debate)
    rows = place.sql("SELECT id, parent_id FROM turns ORDER BY seq")
    assert [parent for _, parent in rows] == [None, *(turn_id for turn_id, _ in rows[:-1])]
