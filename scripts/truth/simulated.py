"""Experiments whose truth is known, because they were made up: what the statistics must find in them."""

from dataclasses import dataclass
from itertools import permutations
from math import sqrt

import numpy as np

from app.statistics import clusters, judges, ratings
from app.statistics.arrays import Codes, Floats
from app.statistics.judgments import AS_SPOKEN, NONE, SWAPPED, JudgmentArrays

CONTESTANTS = 6
MOTIONS = 40
JUDGMENTS = 4
THETA = np.array([-0.9, -0.5, -0.1, 0.2, 0.5, 0.8])
BETA = 0.2
SIDE_SD = 1.0
"""How much motions favour a side, on the logit scale."""
SUIT_SD = 0.5
"""How much a motion suits a contestant."""
PAIRS = np.array(list(permutations(range(CONTESTANTS), 2)))
"""Everybody against everybody with sides swapped."""


@dataclass(frozen=True)
class Coverage:
    experiments: int
    cases: int
    clustered: float
    """Share of the 95 % intervals of rating differences that hold the population-averaged truth."""
    unclustered: float
    """The same, had the interval ignored that debates on one motion are alike."""
    of_coefficients: float
    """Share of the clustered intervals that hold the coefficients that made the data: another question."""


def chances(rng: np.random.Generator, motions: int) -> Floats:
    """The chance of the proposer on each motion in each pair."""
    return np.asarray(1 / (1 + np.exp(-log_odds(rng, motions))))


def log_odds(rng: np.random.Generator, motions: int) -> Floats:
    favour = rng.normal(0, SIDE_SD, motions)
    suit = rng.normal(0, SUIT_SD, (motions, CONTESTANTS))
    first, second = PAIRS[:, 0], PAIRS[:, 1]
    return np.asarray((THETA[first] - THETA[second] + BETA) + favour[:, None] + suit[:, first] - suit[:, second])


def held(chance: Floats, rng: np.random.Generator) -> ratings.Debates:
    """The debates of an experiment, each with the mean of its judgments."""
    motions = len(chance)
    y = rng.binomial(JUDGMENTS, chance).ravel() / JUDGMENTS
    motion = np.repeat(np.arange(motions), len(PAIRS))
    return ratings.Debates(np.tile(PAIRS[:, 0], motions), np.tile(PAIRS[:, 1], motions), motion, y)


def population_truth() -> ratings.Fit:
    """What the fit converges to with ever more motions: that of the mean chances over a great many."""
    mean = chances(np.random.default_rng(0), 200_000).mean(axis=0)
    return ratings.fit(ratings.Debates(PAIRS[:, 0], PAIRS[:, 1], np.zeros(len(PAIRS), np.int64), mean), CONTESTANTS)


def coverage(experiments: int, seed: int) -> Coverage:
    truth = population_truth().theta
    rng = np.random.default_rng(seed)
    hits = np.zeros(3)
    cases = 0
    for _ in range(experiments):
        debates = held(chances(rng, MOTIONS), rng)
        alone = ratings.Debates(debates.proposer, debates.opponent, np.arange(len(debates.y)), debates.y)
        clustered, ignoring = ratings.fit(debates, CONTESTANTS), ratings.fit(alone, CONTESTANTS)
        for i in range(CONTESTANTS):
            for j in range(i):
                right, made = ratings.ELO * (truth[i] - truth[j]), ratings.ELO * (THETA[i] - THETA[j])
                known = difference(clustered, i, j)
                hits += [holds(known, right), holds(difference(ignoring, i, j), right), holds(known, made)]
                cases += 1
    return Coverage(experiments, cases, *(hits / cases))


def difference(found: ratings.Fit, first: int, second: int) -> clusters.Estimate:
    """θ of one contestant less that of another one, on the Elo scale, with its interval."""
    c = found.covariance
    assert c is not None
    error = ratings.ELO * sqrt(c[first, first] + c[second, second] - 2 * c[first, second])
    return clusters.estimated(ratings.ELO * float(found.theta[first] - found.theta[second]), error, found.motions)


def holds(estimate: clusters.Estimate, value: float) -> bool:
    assert estimate.low is not None
    assert estimate.high is not None
    return bool(estimate.low <= value <= estimate.high)


def judged_in_both_orders(rng: np.random.Generator, debates: int, bias: float) -> JudgmentArrays:
    """Debates on a tenth as many motions, judged once in each order by a judge who gives the first position `bias`
    more."""
    motion = np.arange(debates) % (debates // 10)
    chance = np.clip(0.5 + rng.normal(0, 0.12, debates // 10)[motion] + rng.normal(0, 0.12, debates), 0.15, 0.85)
    orders = []
    for order, shift in ((AS_SPOKEN, bias), (SWAPPED, -bias)):
        y = (rng.random(debates) < chance + shift).astype(np.float64)
        orders.append((np.full(debates, order), np.where(rng.random(debates) < 0.1, 0.5, y)))
    order, y = map(np.concatenate, zip(*orders, strict=True))
    return judgments(debate=np.tile(np.arange(debates), 2), motion=np.tile(motion, 2), order=order, y=y)


def judgments(y: Floats, **known: Codes | Floats) -> JudgmentArrays:
    """Of one judge on two contestants in one arm, each of another debate and motion, as far as nothing else is said."""
    counted, nothing = np.arange(len(y)), np.full(len(y), NONE)
    zeros, unknown = np.zeros(len(y), np.int64), np.full(len(y), np.nan)
    codes = {"debate": counted, "motion": counted, "judge": zeros, "pair": zeros, "order": zeros, "arm": zeros}
    codes |= {"provider": nothing, "model": nothing}
    values = {name: known.get(name, codes.get(name, unknown)) for name in JudgmentArrays.__slots__ if name != "y"}
    return JudgmentArrays(y=y, **values)


@dataclass(frozen=True)
class Found:
    seeds: int
    debates: int
    bias: float
    mean: float
    at_1_percent: float
    """Share of the seeds in which a preference was found at p < 0.01."""
    at_5_percent: float


def position_bias(bias: float, seeds: int, debates: int = 400) -> Found:
    found = [
        judges.first_position(
            judged_in_both_orders(np.random.default_rng([seed, int(bias * 100)]), debates, bias)
        ).estimate
        for seed in range(seeds)
    ]
    p = np.array([each.p for each in found], np.float64)
    mean = float(np.mean([each.value for each in found if each.value is not None]))
    return Found(seeds, debates, bias, mean, float((p < 0.01).mean()), float((p < 0.05).mean()))
