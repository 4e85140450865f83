"""Arms: the same motions under several rules, compared in two ways.

Paired: for each motion that both arms have, the difference of its two means; their mean with a t interval of C - 1
degrees of freedom is the paired t test (Student, Biometrika 6, 1908). Each motion counts the same. Pairing removes what
makes a motion hard under any rule.

Unpaired: the mean over the debates of the first arm less that of the second one. It is the slope of y = a + d·x, with
x = 1 in the first arm and 0 in the second, and with its error clustered by motion over both arms together:

var(d) = C/(C - 1) · Σ_c (Σ_{i in c} s_i)²,   s_i = (y_i - ȳ1) / n1 in the first arm, -(y_i - ȳ2) / n2 in the second

with Student's t of C - 1 degrees of freedom, C counting the motions of both (Cameron and Miller, A Practitioner's Guide
to Cluster-Robust Inference, Journal of Human Resources 50, 2015, section II). Each debate counts the same.

Motions needed: n = ((t(0.975; C - 1) + z(0.8)) · s / (d/2))², with s² = C · var(d): so many motions would show a
difference half as large as the one found with a probability of 80 % (Cohen, Statistical Power Analysis, 2nd ed., 1988,
section 2.4).

Several contrasts: Holm's correction keeps the probability of any false finding below 5 %. With m values of p from the
smallest on, the k-th is corrected to the largest of (m - j + 1) · p_j over j <= k, at most 1 (Scandinavian Journal of
Statistics 6, 1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np

from app.statistics import clusters, student
from app.statistics.arrays import Codes, Floats, grouped, means, totals

POWER = 0.8


@dataclass(frozen=True, slots=True)
class ArmValues:
    """A value of each debate, and its motion."""

    y: Floats
    motion: Codes


@dataclass(frozen=True, slots=True)
class Difference:
    estimate: clusters.Estimate
    """`n` counts debates."""
    needed: int | None
    """Motions that would be needed to see half of it."""


def paired(first: ArmValues, second: ArmValues) -> Difference:
    """The mean of the first arm less that of the second one, over the motions that both have."""
    size = int(max(first.motion.max(initial=-1), second.motion.max(initial=-1))) + 1
    gaps = means(first.y, first.motion, size) - means(second.y, second.motion, size)
    shared = np.flatnonzero(~np.isnan(gaps))
    if not len(shared):
        return Difference(clusters.Estimate(None, why="These two have no motion in common."), None)
    debates = sum(int(np.isin(arm.motion, shared).sum()) for arm in (first, second))
    found = replace(clusters.mean(gaps[shared], shared), n=debates)
    return Difference(found, _needed(found))


def unpaired(first: ArmValues, second: ArmValues) -> Difference:
    """The mean of the first arm's debates less that of the second one's."""
    sizes = len(first.y), len(second.y)
    if not all(sizes):
        return Difference(clusters.Estimate(None, why="One of these two has no debate."), None)
    motion, of_each = grouped(np.concatenate([first.motion, second.motion]))
    parts = (first.y, motion[: sizes[0]]), (second.y, motion[sizes[0] :])
    one, other = (_scores(*part, len(of_each)) for part in parts)
    found = clusters.from_sums(float(first.y.mean() - second.y.mean()), one - other, 1, sum(sizes))
    return Difference(found, _needed(found))


def _scores(y: Floats, motion: Codes, motions: int) -> Floats:
    """The sums of each motion's (y - ȳ) / n, in one step, so that they do not depend on the order of the debates."""
    return np.asarray((totals(y, motion, motions) - np.bincount(motion, minlength=motions) * y.mean()) / len(y))


def _needed(found: clusters.Estimate) -> int | None:
    if not found.value or found.error is None:
        return None
    deviation = found.error * sqrt(found.motions)
    reach = student.quantile(clusters.UPPER, found.motions - 1) + NormalDist().inv_cdf(POWER)
    return max(2, ceil((reach * deviation / (abs(found.value) / 2)) ** 2))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Each p corrected for all of them; None stays None and counts as no test."""
    known = sorted((p, place) for place, p in enumerate(values) if p is not None)
    found: list[float | None] = [None] * len(values)
    largest = 0.0
    for k, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - k) * p))
        found[place] = largest
    return found
