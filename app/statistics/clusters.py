"""Means of observations that come in clusters: debates on one motion are alike, so motions are what is counted.

mean = Σ y / n
var(mean) = C/(C - 1) · Σ_c (Σ_{d in c} (y_d - mean))² / n²        (C clusters, n observations)
interval = mean ± t(0.975; C - 1) · sqrt(var)

With one observation a cluster this is the usual t interval. Source: Cameron and Miller, A Practitioner's Guide to
Cluster-Robust Inference, Journal of Human Resources 50 (2015), section II.
"""

from dataclasses import dataclass, replace
from math import sqrt

from app.statistics import student
from app.statistics.arrays import Codes, Floats, grouped, means, totals

CONFIDENCE = 0.95
UPPER = 1 - (1 - CONFIDENCE) / 2
FEW_MOTIONS = 10
"""Below this many clusters the intervals are known to be too narrow."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval; an interval that cannot be given is None, and `why` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    motions: int = 0
    t: float | None = None
    p: float | None = None
    error: float | None = None
    why: str | None = None


def mean(values: Floats, clusters: Codes) -> Estimate:
    """The mean with its interval, and the test of whether it is zero."""
    if len(values) == 0:
        return Estimate(None, why="There is no data.")
    value = float(values.mean())
    return from_scores(value, values - value, len(values), clusters)


def from_scores(value: float, scores: Floats, size: float, clusters: Codes) -> Estimate:
    """`scores` sum to zero over all motions; the value moves by their sum over `size`."""
    numbers, first = grouped(clusters)
    return from_sums(value, totals(scores, numbers, len(first)), size, len(scores))


def from_sums(value: float, sums: Floats, size: float, n: int) -> Estimate:
    """`sums` are those of each motion's scores."""
    count = len(sums)
    if count < 2:
        return Estimate(value, n=n, motions=count, why="There is only one motion, so there is no interval.")
    error = sqrt(count / (count - 1) * float(sums @ sums)) / size
    if error < 1e-12:
        return Estimate(value, n=n, motions=count, why="Every motion gave the same value, so there is no interval.")
    return estimated(value, error, count, n)


def estimated(value: float, error: float, motions: int, n: int = 0) -> Estimate:
    """A value with its standard error over so many motions."""
    reach = student.quantile(UPPER, motions - 1) * error
    t = value / error
    return Estimate(value, value - reach, value + reach, n, motions, t, student.two_sided_p(t, motions - 1), error)


def share(values: Floats, clusters: Codes) -> Estimate:
    """The mean of values between 0 and 1. Where all are 0, or all are 1, the bound is the exact one:
    a share p gives C ones in a row with probability p^C, so p is at least 0.025^(1/C) (Clopper and Pearson, Biometrika
    26, 1934)."""
    found = mean(values, clusters)
    if found.value is None or found.motions < 2:
        return found
    if found.low is not None and found.high is not None:
        return within(found, 0.0, 1.0)
    certain = only_wins(found.motions)
    if found.value == 1.0:
        return Estimate(1.0, certain, 1.0, found.n, found.motions)
    if found.value == 0.0:
        return Estimate(0.0, 0.0, 1.0 - certain, found.n, found.motions)
    return found


def within(found: Estimate, least: float, most: float) -> Estimate:
    """With its interval cut to what is possible."""
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(least, found.low), high=min(most, found.high))


def only_wins(motions: int) -> float:
    """The smallest share of wins that is compatible with nothing but wins on so many motions."""
    return float((1 - UPPER) ** (1 / motions))


def slope(x: Floats, y: Floats, clusters: Codes, constant: str) -> Estimate:
    """Of y on x, both of which have mean zero in their groups: Σ xy / Σ x², with the clustered error of its residuals.
    `constant` says why there is none where x is the same everywhere."""
    spread = float(x @ x)
    if spread < 1e-12:
        return Estimate(None, n=len(x), motions=len(grouped(clusters)[1]), why=constant)
    value = float(x @ y) / spread
    return from_scores(value, x * (y - value * x), spread, clusters)


def centred(values: Floats, groups: Codes) -> Floats:
    """The values less the mean of their group."""
    size = int(groups.max()) + 1 if len(groups) else 0
    return values - means(values, groups, size)[groups]
