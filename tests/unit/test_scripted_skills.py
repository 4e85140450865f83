"""Who wins a scripted debate follows from the stated skills, and the judge errs as it is stated."""

import math
from uuid import UUID

import pytest
from core_builders import a_debate

from app.core.brief import Brief, JudgmentKey
from app.core.debate import Cursor, Turn, TurnType
from app.core.players import JudgeOrder, SeatSetup
from app.core.seats import Seat
from worker.players.scripted.judge import ruling
from worker.players.scripted.skills import by_skill

pytestmark = pytest.mark.long
MANY = 4000
ORDERS = (JudgeOrder.AS_SPOKEN, JudgeOrder.SWAPPED)


def brief(number, order=JudgeOrder.AS_SPOKEN, judge="judge", skills=(None, None), repeat=1, **options):
    seats = {
        Seat.PROPOSER: SeatSetup("scripted", skill=skills[0]),
        Seat.OPPONENT: SeatSetup("scripted", skill=skills[1]),
        Seat.ARBITRATOR: SeatSetup("scripted", **options),
    }
    debate = a_debate(id=UUID(int=number), seats=seats, cursor=Cursor(1, Seat.ARBITRATOR))
    motion = Turn(UUID(int=1), debate.id, 1, 0, Seat.PROPOSER, TurnType.MOTION, "A motion.", "external")
    return Brief(debate, motion, (), JudgmentKey(judge, order, repeat))


def wins(of="proposer", **options):
    """The share of debates in which this side has the higher score."""
    other = {"proposer": "opponent", "opponent": "proposer"}[of]
    drawn = [by_skill(brief(number, **options)) for number in range(MANY)]
    return sum(scores[of] > scores[other] for scores in drawn) / MANY


def near(share):
    """Within four standard errors."""
    return pytest.approx(share, abs=4 * math.sqrt(0.25 / MANY))


@pytest.mark.parametrize(("skills", "chance"), [((0, 0), 0.5), ((1, 0), 0.731), ((None, 2), 0.119), ((3, 3), 0.5)])
def test_the_chance_of_winning_is_the_logistic_of_the_difference(skills, chance):
    assert wins(skills=skills) == near(chance)


def test_without_noise_and_bias_every_judge_says_the_same_of_a_debate_in_every_order():
    for number in range(200):
        winners = {
            max(scores, key=scores.get)
            for scores in (
                by_skill(brief(number, order, judge, (0.3, 0), repeat))
                for order in ORDERS
                for judge in ("a", "b")
                for repeat in (1, 2)
            )
        }
        assert len(winners) == 1


@pytest.mark.parametrize("bias", [0.1, -0.2, 0.5])
def test_the_side_shown_first_wins_as_much_more_than_half_as_the_bias_says(bias):
    first = wins("proposer", order=ORDERS[0], position_bias=bias), wins("opponent", order=ORDERS[1], position_bias=bias)
    assert sum(first) / 2 == pytest.approx(0.5 + bias, abs=4 * math.sqrt(0.25 / (2 * MANY)))


def test_noise_pulls_towards_a_coin():
    assert wins(skills=(10, 0), noise=0.4) == near(0.8)
    assert wins(skills=(10, 0), noise=1) == near(0.5)


def test_the_same_judgment_is_always_the_same_and_another_repeat_may_differ():
    same = [by_skill(brief(7, noise=1, repeat=repeat)) for repeat in (1, 1)]
    assert same[0] == same[1]
    assert len({max(s, key=s.get) for s in (by_skill(brief(7, noise=1, repeat=n)) for n in range(1, 30))}) == 2


def test_a_ruling_says_what_was_drawn_and_nothing_is_drawn_where_nothing_is_stated():
    assert by_skill(brief(1)) is None
    verdict = ruling(brief(1, skills=(30, 0))).verdict
    assert verdict.winner == "proposer"
    assert verdict.scores["proposer"] > verdict.scores["opponent"]
