"""Arms: the same motions under several rules, compared motion by motion.

For each motion that both arms have, the difference of its two means; their mean with a t interval of C - 1 degrees of
freedom is the paired t test (Student, Biometrika 6, 1908). Pairing removes what makes a motion hard under any rule.

Motions needed: n = ((t(0.975; C - 1) + z(0.8)) · s / (d/2))², with s the standard deviation of the differences between
motions: so many shared motions would show a difference half as large as the one found with a probability of 80 %
(Cohen, Statistical Power Analysis, 2nd ed., 1988, section 2.4).
"""

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np

from app.statistics import clusters, student
from app.statistics.arrays import Codes, Floats, means

POWER = 0.8


@dataclass(frozen=True, slots=True)
class Difference:
    estimate: clusters.Estimate
    needed: int | None
    """Motions that would be needed to see half of it."""


def difference(first: Floats, first_motion: Codes, second: Floats, second_motion: Codes) -> Difference:
    """The mean of the first arm less that of the second one, over the motions that both have."""
    size = int(max(first_motion.max(initial=-1), second_motion.max(initial=-1))) + 1
    gaps = means(first, first_motion, size) - means(second, second_motion, size)
    shared = np.flatnonzero(~np.isnan(gaps))
    if not len(shared):
        return Difference(clusters.Estimate(None, why="These two have no motion in common."), None)
    found = clusters.mean(gaps[shared], shared)
    return Difference(found, _needed(found))


def _needed(found: clusters.Estimate) -> int | None:
    if not found.value or found.error is None:
        return None
    deviation = found.error * sqrt(found.motions)
    reach = student.quantile(clusters.UPPER, found.motions - 1) + NormalDist().inv_cdf(POWER)
    return max(2, ceil((reach * deviation / (abs(found.value) / 2)) ** 2))
