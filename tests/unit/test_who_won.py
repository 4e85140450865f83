"""Who wins a scripted debate: never the side with the lower total, in any format that has a judge."""

from collections import Counter
from itertools import product
from uuid import uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_scripted_player import brief_at, debate_of, motion_of, played, think, turn_of

from app.core.brief import Brief
from app.core.debate import Limits, StopReason, TurnType
from app.core.limits import ended_by
from app.core.machine import Move, decide
from app.core.schedules import BUILT_IN, DIALOGUE, DIRECT, ROUNDS, Schedule
from app.core.seats import Seat
from app.core.verdicts import SIDES, Standing, VerdictScope, leader_of, standing_after

DEBATES = 200
scores = st.fixed_dictionaries(dict.fromkeys(SIDES, st.integers(0, 100).map(lambda tenths: tenths / 10)))


def held(form: Schedule, number: int, **options):
    debate = debate_of(form=form, **options)
    rounds = None if form is DIRECT else 1 + number % 6
    return played(debate.evolve(id=uuid5(debate.id, f"{form} {number}"), limits=Limits(max_rounds=rounds)))


@pytest.mark.long
@pytest.mark.parametrize("form", BUILT_IN.values())
def test_over_two_hundred_debates_the_winner_never_has_the_lower_total(form):
    winners = Counter()
    for number in range(DEBATES):
        debate, turns = held(form, number, early_stop=number % 2 == 0)
        rulings = [turn.verdict for turn in turns if turn.verdict]
        assert all(verdict.winner == leader_of(verdict.scores) for verdict in rulings)
        of_rounds = [verdict for verdict in rulings if verdict.scope is VerdictScope.ROUND]
        if form is DIALOGUE and debate.verdict is None:
            continue
        assert debate.verdict is rulings[-1], "the ruling that closes is the debate's"
        assert len(of_rounds) == len(rulings) - 1
        winners[debate.verdict.winner] += 1
        if debate.standing:
            mean = {side: sum(each.scores[side] for each in of_rounds) / len(of_rounds) for side in SIDES}
            assert debate.standing.rounds == len(of_rounds)
            assert all(debate.standing.scores[side] == pytest.approx(mean[side]) for side in SIDES)
    # It would say nothing if one side always won, or nobody.
    assert winners["proposer"] > 0
    assert winners["opponent"] > 0


@pytest.mark.parametrize("form", [form for form in BUILT_IN.values() if form.has_rounds])
def test_a_debate_that_a_limit_cuts_short_is_judged_as_a_whole(form):
    debate, turns = played(debate_of(5, form, 20), last_round=2)
    closing = ended_by(debate, StopReason.TOKEN_LIMIT)
    thought = think(Brief(closing, motion_of(debate), tuple(turns)))
    assert thought.type is TurnType.RULING
    assert "the whole debate" in thought.content
    after = decide(closing, Move(Seat.ARBITRATOR, thought.type, thought.content, True, False, thought.verdict)).debate
    assert after.stop_reason is StopReason.TOKEN_LIMIT
    assert after.verdict.scope is VerdictScope.DEBATE
    if debate.standing:
        assert after.verdict.scores == {side: round(debate.standing.scores[side], 1) for side in SIDES}


@given(
    rounds=st.lists(scores, max_size=9),
    number=st.integers(0, 2**128 - 1),
    spoken=st.lists(st.booleans(), min_size=2, max_size=2),
)
def test_whatever_the_rounds_were_the_closing_ruling_agrees_with_their_mean(rounds, number, spoken):
    """With the round that it closes, whose score is the judge's own."""
    standing: Standing | None = None
    for each in rounds:
        standing = standing_after(standing, each)
    last = len(rounds) + 1
    debate = debate_of(number, ROUNDS, last).evolve(standing=standing)
    turns = [
        turn_of(debate, seq, seat, f"Number {seq} says why.", last)
        for seq, (seat, speaks) in enumerate(zip((Seat.PROPOSER, Seat.OPPONENT), spoken, strict=True), 2)
        if speaks
    ]
    verdict = think(brief_at(debate, last, Seat.ARBITRATOR, *turns)).verdict
    alone = think(brief_at(debate.evolve(standing=None), last, Seat.ARBITRATOR, *turns)).verdict.scores
    counted = [*rounds, alone] if turns or not rounds else rounds
    totals = {side: sum(each[side] for each in counted) for side in SIDES}
    means = {side: total / len(counted) for side, total in totals.items()}
    assert verdict.winner == leader_of(verdict.scores)
    assert all(verdict.scores[side] == pytest.approx(means[side], abs=0.0501) for side in SIDES)
    for winner, loser in product(SIDES, SIDES):
        if verdict.winner == winner != loser:
            assert totals[winner] > totals[loser] - 1e-9, "the winner never has the lower total"
