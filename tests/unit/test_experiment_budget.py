"""How many matches an experiment begins, so that its budget finishes what was begun."""

import random

from app.core.experiments.budget import Money, Spent, how_to_raise, may_begin

NOTHING_SPENT = Spent(0.0, 0.0)


def money(left: float, begun: float = 0.0, largest_call: float = 0.1) -> Money:
    return Money(left, begun, begun > 0, largest_call)


def test_before_the_first_match_is_over_each_counts_with_its_maximum():
    assert may_begin(money(10.1), [1.0] * 50, NOTHING_SPENT) == 10
    assert may_begin(money(10.1, begun=9.5), [1.0] * 50, NOTHING_SPENT) == 0
    assert may_begin(money(10.1, begun=9.0), [1.0] * 50, NOTHING_SPENT) == 1


def test_afterwards_each_counts_with_twice_what_the_others_have_cost():
    spent = Spent(usd=1.0, most_usd=10.0)
    assert may_begin(money(4.11), [1.0] * 50, spent) == 20
    assert may_begin(money(4.11, begun=10.0), [1.0] * 50, spent) == 10
    assert may_begin(money(4.11), [1.0, 100.0, 1.0], spent) == 1, "in their order"


def test_the_last_part_of_a_budget_is_used_by_one_match_at_a_time():
    spent = Spent(usd=1.0, most_usd=10.0)
    assert may_begin(money(0.2), [1.0] * 50, spent) == 1
    assert may_begin(money(0.2, begun=0.5), [1.0] * 50, spent) == 0
    assert may_begin(money(0.5), [1.0] * 50, NOTHING_SPENT) == 1, "its cost is not known yet"


def test_a_budget_is_used_up_when_no_match_is_expected_to_fit_or_no_call_can_begin():
    assert may_begin(money(0.09), [1.0], Spent(1.0, 10.0)) == 0
    assert may_begin(money(0.5, largest_call=0.6), [1.0], NOTHING_SPENT) == 0
    assert may_begin(money(0.0), [1.0], NOTHING_SPENT) == 0


def test_matches_that_cost_nothing_always_begin():
    assert may_begin(Money(0.0, 0.0, False, 0.0), [0.0] * 5, NOTHING_SPENT) == 5
    assert may_begin(money(1.0), [], NOTHING_SPENT) == 0


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
