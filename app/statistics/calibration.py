"""Whether judges are right as often as they say they are.

A judgment names a winner and says how likely it is the right one: its confidence p. With right = 1 or 0,

Brier score = mean of (p - right)², 0 best, ¼ for always ½ (Brier, Monthly Weather Review 78, 1950)
log score = mean of -ln(the probability given to the right answer), 0 best, ln 2 for always ½ (Good, Rational Decisions,
    Journal of the Royal Statistical Society B 14, 1952). Who was certain and wrong has none: it would be infinite.
ECE, the expected calibration error = Σ_b (n_b / n) · |accuracy_b - confidence_b| over ten bins of p from ½ to 1
    (Naeini, Cooper and Hauskrecht, Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI 2015).

A tie says ½ to each answer. In means a debate counts once, and in it each judge once: a judgment has the weight
1 / (the judges of its debate · this judge's judgments of it). ECE is never below zero, so with few debates it is too
large.
"""

from dataclasses import dataclass
from math import fsum

import numpy as np

from app.statistics import clusters
from app.statistics.arrays import Codes, Floats, grouped
from app.statistics.judgments import JudgmentArrays, by_debate

BINS = 10
_FLOAT_ERROR = 1e-9
UNKNOWN = "No judgment has both a confidence and a known answer."
INFINITE = "A judge was certain of a wrong answer, so the log score is infinite."


@dataclass(frozen=True, slots=True)
class Bin:
    low: float
    high: float
    n: int
    """Judgments."""
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    n: int
    """Judgments."""
    brier: float | None
    log_score: float | None
    ece: float | None
    bins: list[Bin]
    """None where there are no judgments."""
    why: str | None = None


@dataclass(frozen=True, slots=True)
class _Said:
    """The judgments with a confidence and a known answer."""

    judgments: JudgmentArrays
    confidence: Floats
    right: Floats
    """A tie is half right."""
    squared: Floats
    """The expected (p - right)²."""


def _said(of: JudgmentArrays) -> _Said:
    tied = of.right == 0.5
    known = tied | ~np.isnan(of.right + of.confidence)
    right = of.right[known]
    confidence = np.where(tied, 0.5, of.confidence)[known]
    return _Said(of.of(known), confidence, right, np.where(tied[known], 0.25, (confidence - right) ** 2))


def brier(of: JudgmentArrays) -> clusters.Estimate:
    """With its interval, clustered by motion."""
    said = _said(of)
    if not len(said.right):
        return clusters.Estimate(None, why=UNKNOWN)
    values, rows = by_debate(said.squared, said.judgments)
    return clusters.mean(values, said.judgments.motion[rows])


def calibration(of: JudgmentArrays) -> Calibration:
    said = _said(of)
    n = len(said.right)
    if not n:
        return Calibration(0, None, None, None, [], UNKNOWN)
    weight = _weights(said.judgments)
    of_right = np.where(said.right == 0, 1 - said.confidence, said.confidence)
    is_finite = bool((of_right > 0).all())
    place = np.floor((said.confidence - 0.5) * 2 * BINS + _FLOAT_ERROR).astype(np.int64).clip(0, BINS - 1)
    gaps = [abs(fsum((weight * (said.right - said.confidence))[place == k])) for k in range(BINS)]
    return Calibration(
        n,
        _mean(said.squared, weight),
        _mean(-np.log(of_right), weight) if is_finite else None,
        fsum(gaps) / fsum(weight),
        _bins(said, weight, place),
        None if is_finite else INFINITE,
    )


def _mean(values: Floats, weight: Floats) -> float:
    """The same to the last digit, whatever the order of the judgments."""
    return fsum(values * weight) / fsum(weight)


def _weights(of: JudgmentArrays) -> Floats:
    opinion, first = grouped(of.debate, of.judge)
    debate, _ = grouped(of.debate)
    judges = np.bincount(debate[first])
    return np.asarray(1 / (np.bincount(opinion)[opinion] * judges[debate]))


def _bins(said: _Said, weight: Floats, place: Codes) -> list[Bin]:
    """A confidence below ½ is in the first one."""
    found = []
    for k in range(BINS):
        here = place == k
        confidence, accuracy = (
            _mean(values[here], weight[here]) if here.any() else None for values in (said.confidence, said.right)
        )
        found.append(Bin(0.5 + k / (2 * BINS), 0.5 + (k + 1) / (2 * BINS), int(here.sum()), confidence, accuracy))
    return found
