"""What a passed deadline does, decided without a clock."""

import pytest
from core_builders import EVERY_SEAT, a_debate, a_move

from app.core.claims import Close, Leave, TakeTurn, decide_claim
from app.core.debate import Cursor, Limits, State, Status, StopReason, TurnType
from app.core.machine import decide
from app.core.players import SeatSetup
from app.core.seats import Seat
from app.core.verdicts import Standing, VerdictScope, why_contradictory

WITH_DEADLINE = {
    "stop": {"on_timeout": "stop"},
    "forfeit": {"on_timeout": "forfeit"},
    "takeover": {"on_timeout": {"takeover": "scripted"}},
}


def waiting(on_timeout, seat=Seat.OPPONENT, **changes):
    """A debate whose external seat has the floor and is overdue; the other seats are workers'."""
    seats = {other: SeatSetup("scripted") for other in Seat}
    seats[seat] = SeatSetup.of_json({"player": "external", "deadline_seconds": 2.5, **WITH_DEADLINE[on_timeout]})
    plain = a_debate(workers=EVERY_SEAT).evolve(seats=seats, cursor=Cursor(2, seat), past_waiting=True)
    return plain.evolve(**changes)


@pytest.mark.parametrize("on_timeout", WITH_DEADLINE)
def test_before_its_deadline_a_seat_is_left_in_peace(on_timeout):
    assert isinstance(decide_claim(waiting(on_timeout, past_waiting=False)), Leave)


@pytest.mark.parametrize("on_timeout", WITH_DEADLINE)
@pytest.mark.parametrize("status", [Status.PAUSED, Status.FAILED])
def test_no_deadline_counts_while_a_debate_is_held(on_timeout, status):
    held = waiting(on_timeout, status=status)
    assert held.answer_seconds is None
    assert isinstance(decide_claim(held), Leave)


def test_stop_ends_the_debate_without_a_winner():
    decision = decide_claim(waiting("stop"))
    assert isinstance(decision, Close)
    after = decision.debate
    assert (after.status, after.stop_reason, after.verdict) == (Status.STOPPED, StopReason.TIME_LIMIT, None)
    assert (after.stop_note, after.missed_deadline) == ("The opponent did not answer within 2.5 seconds.", True)


@pytest.mark.parametrize(("loser", "winner"), [(Seat.OPPONENT, "proposer"), (Seat.PROPOSER, "opponent")])
def test_a_forfeit_gives_the_debate_to_the_other_side_even_from_behind(loser, winner):
    leads = Standing({loser.role: 9.0, winner: 1.0}, 1)
    decision = decide_claim(waiting("forfeit", loser, standing=leads))
    assert isinstance(decision, Close)
    after = decision.debate
    assert (after.status, after.stop_reason, after.missed_deadline) == (Status.COMPLETED, StopReason.FORFEIT, True)
    assert (after.verdict.winner, after.verdict.scope) == (winner, VerdictScope.DEBATE)
    assert why_contradictory(after.verdict) is None
    assert after.standing == leads, "no judge gave these scores: they count in no mean"


def test_a_takeover_takes_one_turn_and_the_seat_stays_what_it_is():
    debate = waiting("takeover")
    decision = decide_claim(debate)
    assert isinstance(decision, TakeTurn)
    assert decision.debate.floor == SeatSetup("scripted")
    moved = decide(decision.debate, a_move(Seat.OPPONENT, TurnType.CLAIM, by_worker=True))
    assert moved.turns[0].player == "scripted"
    assert not moved.debate.past_waiting
    assert moved.debate.seats[Seat.OPPONENT].is_external
    back = moved.debate.evolve(cursor=Cursor(3, Seat.OPPONENT))
    assert back.awaits_seat


def test_whoever_comes_late_may_still_speak_before_the_player_does():
    late = decide(waiting("takeover"), a_move(Seat.OPPONENT, TurnType.CLAIM))
    assert late.turns[0].player == "external"


def test_a_takeover_also_rules_on_an_interruption():
    """Or an arbitrator that dies after it interrupted would hold the debate for ever."""
    debate = waiting("takeover", Seat.ARBITRATOR, intervention_open=True, interrupted=Seat.PROPOSER)
    decision = decide_claim(debate)
    assert isinstance(decision, TakeTurn)
    ruled = decide(decision.debate, a_move(Seat.ARBITRATOR, TurnType.RULING, by_worker=True))
    assert ruled.debate.state is State.AWAITING_PROPOSER


def test_a_limit_of_the_debate_comes_before_the_deadline_of_a_seat():
    both = waiting("forfeit", past_deadline=True, limits=Limits(max_seconds=1), cursor=Cursor(1, Seat.OPPONENT))
    decision = decide_claim(both)
    assert isinstance(decision, Close)
    assert decision.debate.stop_reason is StopReason.TIME_LIMIT
