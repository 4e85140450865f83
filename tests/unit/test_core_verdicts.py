"""Who won: the winner never has the lower score, a round's verdict is not the debate's, a limit leaves a verdict."""

import pytest
from core_builders import EVERY_SEAT, a_debate, a_move, seats
from hypothesis import given
from hypothesis import strategies as st

from app.core.debate import Limits, State, Status, StopReason, TurnType, Usage
from app.core.errors import InvalidInput
from app.core.limits import ended_by, limit_reached
from app.core.machine import decide
from app.core.players import SeatSetup
from app.core.schedules import BUILT_IN
from app.core.seats import Seat
from app.core.verdicts import Standing, Verdict, VerdictScope, leader_of, standing_after, why_contradictory

scores = st.fixed_dictionaries(dict.fromkeys(("proposer", "opponent"), st.floats(0, 10)))


def ruled(debate, verdict, **how):
    return decide(debate, a_move(Seat.ARBITRATOR, TurnType.RULING, verdict=verdict, **how))


@given(scores, st.sampled_from(["proposer", "opponent", "tie"]))
def test_a_verdict_is_taken_exactly_if_its_winner_leads(given_scores, winner):
    debate = a_debate(State.AWAITING_ARBITRATOR)
    if winner == leader_of(given_scores):
        assert ruled(debate, Verdict(winner, given_scores, "Why.")).turns[0].verdict.winner == winner
    else:
        with pytest.raises(InvalidInput) as refused:
            ruled(debate, Verdict(winner, given_scores, "Why."))
        assert refused.value.message


@pytest.mark.parametrize(
    ("winner", "given_scores", "says"),
    [
        ("tie", (6, 7), "a tie has equal scores"),
        ("proposer", (6, 7), "lower score"),
        ("opponent", (7, 7), "equal"),
    ],
)
def test_a_contradiction_is_said_in_words(winner, given_scores, says):
    problem = why_contradictory(Verdict(winner, dict(zip(("proposer", "opponent"), given_scores, strict=True)), "Why."))
    assert says in problem


def test_a_judge_that_named_two_winners_may_call_a_tie_with_unequal_means():
    orders = {"as_spoken": {"winner": "proposer"}, "swapped": {"winner": "opponent"}}
    assert why_contradictory(Verdict("tie", {"proposer": 6.5, "opponent": 6}, "Why.", orders=orders)) is None


@given(st.lists(scores, min_size=1, max_size=12))
def test_the_standing_is_the_mean_of_its_rounds(rounds):
    standing = None
    for each in rounds:
        standing = standing_after(standing, each)
    assert standing.rounds == len(rounds)
    for side in ("proposer", "opponent"):
        assert standing.scores[side] == pytest.approx(sum(each[side] for each in rounds) / len(rounds), abs=1e-9)


def test_a_round_is_judged_for_the_standing_and_the_last_ruling_for_the_debate():
    first, last = {"proposer": 8.0, "opponent": 6.0}, {"proposer": 5.0, "opponent": 7.0}
    debate = a_debate(State.AWAITING_ARBITRATOR, workers=EVERY_SEAT, limits=Limits(max_rounds=3))
    decision = ruled(debate, Verdict("proposer", first, "Why."), by_worker=True)
    assert decision.turns[0].verdict.scope is VerdictScope.ROUND
    assert (decision.debate.verdict, decision.debate.standing) == (None, Standing(first, 1))

    at_the_end = a_debate(
        State.AWAITING_ARBITRATOR,
        workers=EVERY_SEAT,
        limits=Limits(max_rounds=3),
        round_=3,
        standing=Standing(first, 1),
    )
    decision = ruled(at_the_end, Verdict("opponent", last, "Why."), by_worker=True)
    assert decision.debate.stop_reason is StopReason.MAX_ROUNDS
    assert (decision.debate.verdict.winner, decision.debate.verdict.scope) == ("opponent", VerdictScope.DEBATE)
    assert decision.debate.standing == Standing(first, 1)


def test_a_person_who_closes_without_a_verdict_leaves_none():
    debate = a_debate(State.AWAITING_ARBITRATOR, standing=Standing({"proposer": 8.0, "opponent": 6.0}, 1))
    closed = ruled(debate, None, close=True).debate
    assert (closed.stop_reason, closed.verdict, closed.standing) == (StopReason.RULING, None, debate.standing)


@pytest.mark.parametrize(
    ("limits", "usage", "late", "reason"),
    [
        (Limits(max_total_tokens=10), Usage(5, 5), False, StopReason.TOKEN_LIMIT),
        (Limits(max_seconds=10), Usage(), True, StopReason.TIME_LIMIT),
        (Limits(max_cost_usd=1.0, kept_back_usd=0.25), Usage(cost_usd=0.75), False, StopReason.COST_LIMIT),
    ],
)
@pytest.mark.parametrize("form", [form for form in BUILT_IN.values() if form.has_rounds])
def test_a_limit_ends_the_speeches_and_the_judge_still_rules(form, limits, usage, late, reason):
    debate = a_debate(form=form, workers=EVERY_SEAT, limits=limits, usage=usage, past_deadline=late)
    assert limit_reached(debate) is reason
    closing = ended_by(debate, reason)
    assert (closing.status, closing.closing, closing.state) == (Status.RUNNING, reason, State.AWAITING_ARBITRATOR)
    assert closing.awaits_worker
    assert closing.ruling_closes
    assert limit_reached(closing) is None
    decision = ruled(closing, Verdict("tie", {"proposer": 5, "opponent": 5}, "Even."), by_worker=True)
    assert (decision.debate.status, decision.debate.stop_reason) == (Status.STOPPED, reason)
    assert decision.debate.verdict.scope is VerdictScope.DEBATE


def test_a_limit_closes_at_once_where_a_person_judges_or_somebody_has_not_spoken():
    of_a_person = a_debate(workers=frozenset({Seat.PROPOSER, Seat.OPPONENT}))
    too_early = a_debate(State.AWAITING_OPPONENT, workers=EVERY_SEAT, round_=1)
    for debate in (of_a_person, too_early):
        closed = ended_by(debate, StopReason.TIME_LIMIT)
        assert (closed.status, closed.stop_reason, closed.verdict) == (Status.STOPPED, StopReason.TIME_LIMIT, None)


def test_a_closing_ruling_that_the_budget_does_not_allow_is_not_asked_for_again():
    debate = a_debate(
        State.AWAITING_ARBITRATOR,
        seats={**seats(EVERY_SEAT), Seat.ARBITRATOR: SeatSetup("openai:gpt-5-mini")},
        limits=Limits(max_cost_usd=1.0, kept_back_usd=0.25),
        usage=Usage(cost_usd=1.0),
        closing=StopReason.TOKEN_LIMIT,
    )
    assert limit_reached(debate) is StopReason.COST_LIMIT
    closed = ended_by(debate, StopReason.COST_LIMIT)
    assert (closed.status, closed.stop_reason) == (Status.STOPPED, StopReason.TOKEN_LIMIT)
    assert limit_reached(debate.evolve(seats=seats(EVERY_SEAT))) is None, "a judge that costs nothing still rules"
