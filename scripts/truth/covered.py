"""How often the 95 % intervals of further figures hold the truth: differences of arms, beliefs, ratings at equal
length, and a preference for a position where each debate has one order. Motions differ in all of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np

from app.statistics import arms, beliefs, clusters, judges, ratings
from app.statistics.arrays import Codes, Floats
from app.statistics.judgments import AS_SPOKEN, SWAPPED
from scripts.truth.simulated import (
    CONTESTANTS,
    JUDGMENTS,
    MOTIONS,
    PAIRS,
    difference,
    holds,
    judgments,
    log_odds,
)

MANY_MOTIONS = 20_000
"""In an experiment that represents the truth."""


@dataclass(frozen=True)
class Interval:
    truth: float
    clustered: clusters.Estimate
    ignoring: clusters.Estimate
    """Had the interval ignored that debates on one motion are alike."""


@dataclass(frozen=True)
class Covered:
    cases: int
    clustered: float
    """Share of the intervals that hold the truth."""
    ignoring: float


Simulation = Callable[[np.random.Generator], Iterator[Interval]]


def covered(simulation: Simulation, experiments: int, seed: int) -> Covered:
    rng = np.random.default_rng(seed)
    found = [one for _ in range(experiments) for one in simulation(rng)]
    return Covered(
        len(found),
        float(np.mean([holds(one.clustered, one.truth) for one in found])),
        float(np.mean([holds(one.ignoring, one.truth) for one in found])),
    )


LEVELS = (1.6, 1.1, 0.8, 0.4)
"""Log odds of a right judgment in each arm, on a motion of usual difficulty."""
HARD_SD, SUITS_ARM_SD = 0.5, 1.0
"""How much motions differ under all rules, and under the rules of each arm."""
EACH_MOTION = 60


def unpaired_differences(rng: np.random.Generator) -> Iterator[Interval]:
    """Four arms, each on about half of the motions, with one to six debates on each."""
    hard = rng.normal(0, HARD_SD, EACH_MOTION)
    held = []
    for level in LEVELS:
        debates = np.where(rng.random(EACH_MOTION) < 0.5, rng.integers(1, 7, EACH_MOTION), 0)
        motion = np.repeat(np.arange(EACH_MOTION), debates)
        eta = level + hard + rng.normal(0, SUITS_ARM_SD, EACH_MOTION)
        held.append(arms.ArmValues((rng.random(len(motion)) < _chance(eta)[motion]).astype(np.float64), motion))
    for first, second in combinations(range(len(LEVELS)), 2):
        truth = _levels()[first] - _levels()[second]
        pair = held[first], held[second]
        yield Interval(truth, arms.unpaired(*pair).estimate, arms.unpaired(*_without_motions(*pair)).estimate)


@cache
def _levels() -> list[float]:
    """The share of right judgments in each arm, over all motions."""
    spread = np.random.default_rng(0).normal(0, np.hypot(HARD_SD, SUITS_ARM_SD), 2_000_000)
    return [float(_chance(level + spread).mean()) for level in LEVELS]


def _without_motions(first: arms.ArmValues, second: arms.ArmValues) -> tuple[arms.ArmValues, arms.ArmValues]:
    alone = np.arange(len(first.y) + len(second.y))
    return replace(first, motion=alone[: len(first.y)]), replace(second, motion=alone[len(first.y) :])


def _chance(eta: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-eta)))


ROUNDS, ON_EACH_MOTION = 4, 6
SETTLED = 1.5
"""A judge whose log odds are further from zero ends the debate."""


def beliefs_of_judges(rng: np.random.Generator) -> Iterator[Interval]:
    """A judge's belief walks, in steps that motions share, until the judge is settled."""
    found = _believed(rng, MOTIONS)
    alone = replace(found, motion=found.debate)
    truth = _true_beliefs()
    pairs = zip(_of_all(found), _of_all(alone), strict=True)
    for (after, clustered), (_, ignoring) in pairs:
        yield Interval(truth[after], clustered, ignoring)
    yield Interval(truth[None], beliefs.swing(found).estimate, beliefs.swing(alone).estimate)


def _of_all(found: beliefs.Beliefs) -> list[tuple[int, clusters.Estimate]]:
    return [(row.round, row.mean) for row in beliefs.after_rounds(found) if row.judge is None]


@cache
def _true_beliefs() -> dict[int | None, float]:
    """After each round, and the swing (None)."""
    found = _believed(np.random.default_rng(0), MANY_MOTIONS)
    means: dict[int | None, float] = {after: mean.value or 0.0 for after, mean in _of_all(found)}
    return {**means, None: beliefs.swing(found).estimate.value or 0.0}


def _believed(rng: np.random.Generator, motions: int) -> beliefs.Beliefs:
    motion = np.repeat(np.arange(motions), ON_EACH_MOTION)
    size = len(motion)
    belief = rng.normal(0, 0.3, motions)[motion] + rng.normal(0, 0.3, size)
    goes_on = np.ones(size, bool)
    parts: list[tuple[Codes, int, bool, Floats]] = [(np.arange(size), 0, False, _chance(belief))]
    for after in range(1, ROUNDS + 1):
        belief = belief + 0.25 + rng.normal(0, 0.5, motions)[motion] + rng.normal(0, 0.5, size)
        ends = goes_on & ((np.abs(belief) > SETTLED) | (after == ROUNDS))
        for here, is_whole in ((goes_on & ~ends, False), (ends, True)):
            parts.append((np.flatnonzero(here), after, is_whole, _chance(belief[here])))
        goes_on = goes_on & ~ends
    debate = np.concatenate([part[0] for part in parts])
    after_rounds = np.concatenate([np.full(len(part[0]), part[1]) for part in parts])
    is_whole = np.concatenate([np.full(len(part[0]), part[2]) for part in parts])
    probability = np.concatenate([part[3] for part in parts])
    return beliefs.Beliefs(debate, motion[debate], np.zeros(len(debate), np.int64), after_rounds, is_whole, probability)


WORDINESS = np.array([0.4, -0.2, 0.5, -0.5, 0.1, -0.3])
"""Log of each contestant's usual words over those of the average one."""
OF_LENGTH = 0.6
"""What a log unit of length adds to the log odds."""


def controlled_ratings(rng: np.random.Generator) -> Iterator[Interval]:
    """The contestants of the first simulation, before judges who prefer whoever writes more."""
    debates = _held_with_words(rng, MOTIONS)
    alone = replace(debates, motion=np.arange(len(debates.y)))
    clustered, ignoring = ratings.fit(debates, CONTESTANTS), ratings.fit(alone, CONTESTANTS)
    truth = _true_ratings()
    for i, j in combinations(range(CONTESTANTS), 2):
        right = ratings.ELO * float(truth[i] - truth[j])
        yield Interval(right, difference(clustered, i, j), difference(ignoring, i, j))


@cache
def _true_ratings() -> Floats:
    return ratings.fit(_held_with_words(np.random.default_rng(0), MANY_MOTIONS, judged=False), CONTESTANTS).theta


def _held_with_words(rng: np.random.Generator, motions: int, *, judged: bool = True) -> ratings.Debates:
    first, second = PAIRS[:, 0], PAIRS[:, 1]
    x = WORDINESS[first] - WORDINESS[second] + rng.normal(0, 0.5, (motions, len(PAIRS)))
    chance = _chance(log_odds(rng, motions) + OF_LENGTH * x).ravel()
    y = rng.binomial(JUDGMENTS, chance) / JUDGMENTS if judged else chance
    motion = np.repeat(np.arange(motions), len(PAIRS))
    return ratings.Debates(np.tile(first, motions), np.tile(second, motions), motion, y, x.ravel())


PREFERENCE, PREFERENCE_REACH, FAVOUR_REACH = 0.1, 0.25, 0.15
"""For the first position on average; how far a motion's preference may be from that; and how far it favours a side."""
JUDGES, SHOWN_ON_EACH = 5, 10


def random_orders(rng: np.random.Generator) -> Iterator[Interval]:
    """Five judges who saw each debate in one order, drawn at random. The preference differs between motions."""
    motion = np.repeat(np.arange(MOTIONS), SHOWN_ON_EACH)
    favour = rng.uniform(-FAVOUR_REACH, FAVOUR_REACH, MOTIONS)
    for _ in range(JUDGES):
        preference = PREFERENCE + rng.uniform(-PREFERENCE_REACH, PREFERENCE_REACH, MOTIONS)
        order = rng.choice([AS_SPOKEN, SWAPPED], len(motion))
        shift = np.where(order == AS_SPOKEN, preference[motion], -preference[motion])
        y = (rng.random(len(motion)) < 0.5 + favour[motion] + shift).astype(np.float64)
        clustered, ignoring = (
            judges.first_position(judgments(y, order=order, **of)).estimate for of in ({"motion": motion}, {})
        )
        yield Interval(PREFERENCE, clustered, ignoring)


SIMULATIONS: dict[str, Simulation] = {
    "unpaired differences of arms": unpaired_differences,
    "beliefs after each round, and swing": beliefs_of_judges,
    "differences of ratings at equal length": controlled_ratings,
    "first position from random orders": random_orders,
}
