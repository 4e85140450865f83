"""How many matches an experiment begins, so that its budget finishes what was begun."""

import random

import pytest

from app.core.experiments.budget import Money, Spent, may_begin
from app.words.experiments import how_to_raise

BEFORE_ANY_WAS_OVER, TENTH_OF_MAXIMUM = Spent(0.0, 0.0), Spent(usd=1.0, most_usd=10.0)
MATCHES = [1.0] * 50


@pytest.mark.parametrize(
    ("left", "begun", "largest_call", "matches", "spent", "more"),
    [
        pytest.param(10.1, 0.0, 0.1, MATCHES, BEFORE_ANY_WAS_OVER, 10, id="each counts with its maximum"),
        pytest.param(10.1, 9.5, 0.1, MATCHES, BEFORE_ANY_WAS_OVER, 0, id="with those begun, none fits"),
        pytest.param(10.1, 9.0, 0.1, MATCHES, BEFORE_ANY_WAS_OVER, 1, id="with those begun, one fits"),
        pytest.param(4.11, 0.0, 0.1, MATCHES, TENTH_OF_MAXIMUM, 20, id="each counts with twice what the others cost"),
        pytest.param(4.11, 10.0, 0.1, MATCHES, TENTH_OF_MAXIMUM, 10, id="those begun count so too"),
        pytest.param(4.11, 0.0, 0.1, [1.0, 100.0, 1.0], TENTH_OF_MAXIMUM, 1, id="in their order"),
        pytest.param(0.2, 0.0, 0.1, MATCHES, TENTH_OF_MAXIMUM, 1, id="the last part goes to one match at a time"),
        pytest.param(0.2, 0.5, 0.1, MATCHES, TENTH_OF_MAXIMUM, 0, id="while that one runs, none begins"),
        pytest.param(0.5, 0.0, 0.1, MATCHES, BEFORE_ANY_WAS_OVER, 1, id="its cost is not known yet"),
        pytest.param(0.09, 0.0, 0.1, [1.0], TENTH_OF_MAXIMUM, 0, id="no match is expected to fit"),
        pytest.param(0.5, 0.0, 0.6, [1.0], BEFORE_ANY_WAS_OVER, 0, id="no call can begin"),
        pytest.param(0.0, 0.0, 0.1, [1.0], BEFORE_ANY_WAS_OVER, 0, id="nothing is left"),
        pytest.param(0.0, 0.0, 0.0, [0.0] * 5, BEFORE_ANY_WAS_OVER, 5, id="what costs nothing always begins"),
        pytest.param(1.0, 0.0, 0.1, [], BEFORE_ANY_WAS_OVER, 0, id="no match to begin"),
    ],
)
def test_how_many_matches_begin(left, begun, largest_call, matches, spent, more):
    assert may_begin(Money(left, begun, begun > 0, largest_call), matches, spent) == more


def test_what_is_begun_is_finished_whatever_matches_cost():
    """Matches cost between half and twice their mean, in calls of which each reserves its maximum first."""
    drawn = random.Random(7)
    for _ in range(300):
        call = drawn.uniform(0.01, 1.0)
        calls, most = 5, 5 * call
        ratio = drawn.uniform(0.02, 0.5)
        budget, spent, over = drawn.uniform(2, 40) * most, 0.0, 0
        open_: list[list[float]] = []
        unfinished = 0
        while True:
            begun = sum(most - sum(costs) for costs in open_)
            left = Money(budget - spent, begun, bool(open_), call)
            more = may_begin(left, [most] * (50 - len(open_)), Spent(spent, over * most))
            open_ += [[] for _ in range(more)]
            if not open_:
                break
            one = drawn.choice(open_)
            if spent + call > budget:
                unfinished = len(open_)
                break
            cost = call * ratio * drawn.uniform(0.5, 2.0)
            one.append(min(cost, call))
            spent += one[-1]
            if len(one) == calls:
                open_.remove(one)
                over += 1
        assert unfinished <= 1
        assert spent <= budget


def test_the_note_says_how_to_raise_the_budget():
    assert "Raise budget_usd" in how_to_raise(20, 19.98765)
    assert "$20" in how_to_raise(20, 19.98765)
