"""Judgments as arrays. A debate counts once, however many judgments it has: first each judge's mean over its orders and
repeats, then the mean over the judges."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.statistics.arrays import Codes, Floats, grouped, means

NONE = -1
"""The code of what is not known: a judgment without an order, a player without a provider."""
AS_SPOKEN, SWAPPED = 0, 1


@dataclass(frozen=True, slots=True)
class JudgmentArrays:
    """One entry for each judgment. What is not known is NONE or not a number."""

    debate: Codes
    motion: Codes
    judge: Codes
    pair: Codes
    """The ordered pair of contestants, in one arm."""
    order: Codes
    y: Floats
    right: Floats
    confidence: Floats
    doublings: Floats
    """log2 of the proposer's length over the opponent's."""
    arm: Codes
    provider: Codes
    """The judge's."""
    provider_side: Floats
    """1 where the proposer alone is of the judge's provider, 0 where the opponent alone is; else not a number."""
    model: Codes
    """The judge's."""
    model_side: Floats
    """The same of the judge's model."""
    margin: Floats
    """The proposer's score less the opponent's, over the largest difference of this judge: -1 to 1."""

    def of(self, chosen: NDArray[np.bool_]) -> "JudgmentArrays":
        return JudgmentArrays(*(getattr(self, name)[chosen] for name in JudgmentArrays.__slots__))


def by_debate(values: Floats, of: JudgmentArrays) -> tuple[Floats, Codes]:
    """For each debate the mean over its judges, each of whom counts once: with the mean over its orders and repeats.
    And a judgment of each debate."""
    values, first = by_judge(values, of)
    debate, rows = grouped(of.debate[first])
    return means(values, debate, len(rows)), first[rows]


def by_judge(values: Floats, of: JudgmentArrays) -> tuple[Floats, Codes]:
    """For each debate and judge the mean over orders and repeats; and one judgment of each."""
    number, first = grouped(of.debate, of.judge)
    return means(values, number, len(first)), first
