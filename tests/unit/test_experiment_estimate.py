"""The interval of an estimate, held against simulated experiments whose answers have random lengths."""

import random
from statistics import fmean, stdev

import pytest

from app.core.experiments.estimate import CallsToCome, cost_interval

RUNS = 200
SEEN = 12
KINDS = ((600, 0.002), (600, 0.0004), (800, 0.01))
"""Calls to come, and the median cost of one: two contestants and a judge."""


def lengths(chance: random.Random, median: float, count: int) -> list[float]:
    """A few answers are many times as long as most."""
    return [chance.lognormvariate(0.0, 0.8) * median for _ in range(count)]


def held(seed: int) -> bool:
    """Whether the interval has the final cost in it."""
    chance = random.Random(seed)
    kinds, final = [], 0.0
    for calls, median in KINDS:
        seen = lengths(chance, median, SEEN)
        kinds.append(CallsToCome(calls, fmean(seen), stdev(seen), len(seen)))
        final += sum(lengths(chance, median, calls))
    low, high = cost_interval(kinds)
    return low <= final <= high


def test_it_holds_the_final_cost_in_nine_of_ten_seeded_runs() -> None:
    assert sum(held(seed) for seed in range(RUNS)) >= 0.9 * RUNS


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([], (0.0, 0.0)),
        ([CallsToCome(10, 0.5, 0.0, 3)], (4.5, 5.5)),
        ([CallsToCome(1, 0.5, 10.0, 1)], (0.0, pytest.approx(0.5 + 1.96 * 10 * 2**0.5 + 0.05))),
    ],
)
def test_the_ends(kinds: list[CallsToCome], expected: tuple[float, float]) -> None:
    assert cost_interval(kinds) == expected
