"""Each judge: how often it ties, what the order of presentation does to it, whom it favours, and how often it is right.

All intervals are clustered by motion (clusters.py). A judgment's y is 1, ½ or 0 for the proposer. A debate counts once
for a judge, with the mean over that judge's orders and repeats.

first position: the mean over debates judged in both orders of (y as spoken + 1 - y swapped) / 2, less ½. A judge who
    does not look at the order has 0; one who prefers who stands first in ten more debates of a hundred has 0.10. The
    debate's own merits cancel, because both orders show the same debate (Zheng et al., Judging LLM-as-a-Judge, 2023).
flips: debates judged in both orders with different winners.
own provider: over debates in which one side alone is of the judge's provider, this judge's points for that side less
    the mean points that judges of other providers gave it in the same debates. The pairing removes the merits of the
    sides (Panickssery et al., LLM Evaluators Recognize and Favor Their Own Generations, 2024, ask it without pairs).
length: points of the proposer for each doubling of log2(its length / the other's), among debates of the same two
    contestants in the same seats of one arm: the slope after both are centred in each such pair, so that a strong
    contestant who writes much is not called an effect of length (a fixed-effects regression; Dubois et al.,
    Length-Controlled AlpacaEval, 2024, give the reason). It is at most 100 points either way: a slope beyond that comes
    from lengths that hardly differ, and is not given.
accuracy: with known answers, the mean of 1, ½ (a tie), 0.
Brier score: the mean of (confidence - right)², 0 best (Brier, Monthly Weather Review 78, 1950); a tie is ½ sure.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.statistics import clusters
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
    provider: Codes
    """The judge's."""
    favoured: Floats
    """1 where the proposer alone is of the judge's provider, 0 where the opponent alone is; else not a number."""

    def of(self, chosen: NDArray[np.bool_]) -> "JudgmentArrays":
        return JudgmentArrays(*(getattr(self, name)[chosen] for name in JudgmentArrays.__slots__))


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """One judge, in all arms or in one of them."""

    judgments: int
    debates: int
    ties: int
    flips: int
    compared: int
    """Debates that were judged in both orders: what flips are counted in."""
    flip_rate: clusters.Estimate
    first_position: clusters.Estimate
    proposer_share: clusters.Estimate
    accuracy: clusters.Estimate
    brier: clusters.Estimate


def judge(own: JudgmentArrays) -> JudgeFigures:
    """`own` are one judge's."""
    spoken, swapped, motion = both_orders(own)
    flipped = _side(spoken) != _side(swapped)
    points, rows = by_debate(own.y, own)
    return JudgeFigures(
        judgments=len(own.y),
        debates=len(points),
        ties=int((own.y == 0.5).sum()),
        flips=int(flipped.sum()),
        compared=len(motion),
        flip_rate=clusters.share(flipped.astype(np.float64), motion),
        first_position=first_position(own),
        proposer_share=clusters.share(points, own.motion[rows]),
        accuracy=accuracy(own),
        brier=brier(own),
    )


def by_debate(values: Floats, of: JudgmentArrays) -> tuple[Floats, Codes]:
    """For each debate the mean over its judges, each of whom counts once: with the mean over its orders and repeats.
    And a judgment of each debate."""
    values, first = _by_judge(values, of)
    debate, rows = grouped(of.debate[first])
    return means(values, debate, len(rows)), first[rows]


def _by_judge(values: Floats, of: JudgmentArrays) -> tuple[Floats, Codes]:
    """For each debate and judge the mean over orders and repeats; and one judgment of each."""
    number, first = grouped(of.debate, of.judge)
    return means(values, number, len(first)), first


def both_orders(own: JudgmentArrays) -> tuple[Floats, Floats, Codes]:
    """For each debate that this judge saw in both orders: y as spoken, y swapped (means over repeats), and the
    motion."""
    debate, first = grouped(own.debate)
    orders = (own.order == order for order in (AS_SPOKEN, SWAPPED))
    spoken, swapped = (means(own.y[here], debate[here], len(first)) for here in orders)
    both = ~np.isnan(spoken) & ~np.isnan(swapped)
    return spoken[both], swapped[both], own.motion[first][both]


def _side(y: Floats) -> Floats:
    return np.sign(y - 0.5)


def first_position(own: JudgmentArrays) -> clusters.Estimate:
    spoken, swapped, motion = both_orders(own)
    if not len(motion):
        why = "No debate was judged in both orders, so a preference for a position cannot be told from one for a side."
        return clusters.Estimate(None, why=why)
    return clusters.mean((spoken + 1 - swapped) / 2 - 0.5, motion)


def own_provider(everything: JudgmentArrays, number: int) -> clusters.Estimate:
    size = int(everything.debate.max()) + 1 if len(everything.debate) else 0
    mine = everything.of((everything.judge == number) & ~np.isnan(everything.favoured))
    if not len(mine.y):
        return clusters.Estimate(None, why="No debate had exactly one side from this judge's provider.")
    others = everything.of((everything.judge != number) & (everything.provider != mine.provider[0]))
    own, first = by_debate(mine.y, mine)
    of_others, rows = _by_judge(others.y, others)
    gap = own - means(of_others, others.debate[rows], size)[mine.debate[first]]
    judged = ~np.isnan(gap)
    if not judged.any():
        return clusters.Estimate(None, why="No judge of another provider judged the same debates.")
    gap = gap[judged]
    return clusters.mean(np.where(mine.favoured[first][judged] == 1, gap, -gap), mine.motion[first][judged])


def length(own: JudgmentArrays) -> clusters.Estimate:
    known = own.of(~np.isnan(own.doublings))
    if not len(known.y):
        return clusters.Estimate(None, why="The lengths of the speeches are not known.")
    points, rows = by_debate(known.y, known)
    pair = known.pair[rows]
    x, y = clusters.centred(known.doublings[rows], pair), clusters.centred(points, pair)
    found = clusters.slope(x, y, known.motion[rows])
    if found.value is not None and abs(found.value) > 1:
        why = "The lengths differ too little to say what a doubling does."
        return clusters.Estimate(None, n=found.n, motions=found.motions, why=why)
    return clusters.within(found, -1.0, 1.0)


def accuracy(own: JudgmentArrays) -> clusters.Estimate:
    known = ~np.isnan(own.right)
    if not known.any():
        return clusters.Estimate(None, why="The motions have no known answers.")
    values, rows = by_debate(own.right[known], own.of(known))
    return clusters.share(values, own.motion[known][rows])


def brier(own: JudgmentArrays) -> clusters.Estimate:
    known = ~np.isnan(own.right) & (~np.isnan(own.confidence) | (own.right == 0.5))
    if not known.any():
        why = "No judgment has both a confidence and a known answer."
        return clusters.Estimate(None, why=why)
    right, said = own.right[known], own.confidence[known]
    values, rows = by_debate(np.where(right == 0.5, 0.25, (said - right) ** 2), own.of(known))
    return clusters.mean(values, own.motion[known][rows])
