"""Each judge: how often it ties, what the order of presentation does to it, whom it favours, and how often it is right.

All intervals are clustered by motion (clusters.py). A judgment's y is 1, ½ or 0 for the proposer. A debate counts once
for a judge, with the mean over that judge's orders and repeats.

first position: the mean over debates judged in both orders of (y as spoken + 1 - y swapped) / 2, less ½. A judge who
    does not look at the order has 0; one who prefers who is first in ten more debates of a hundred has 0.10. The
    debate's own merits cancel, because both orders show the same debate (Zheng et al., Judging LLM-as-a-Judge, 2023).
    Where each debate was judged in one order alone, and both orders occur: the slope d of y = a_arm + d·x, with x = 1
    where the proposer was shown first and -1 where the opponent was. Merits cancel only on average, and only if the
    order was drawn at random (Imbens and Rubin, Causal Inference, 2015, chapter 7).
flips: debates judged in both orders with different winners.
own provider: over debates in which one side alone is of the judge's provider, this judge's points for that side less
    the mean points that judges of other providers gave it in the same debates. The pairing removes the merits of the
    sides (Panickssery et al., LLM Evaluators Recognize and Favor Their Own Generations, 2024, ask it without pairs).
own model: the same, of the judge's model and of judges of other models.
length: points of the proposer for each doubling of log2(its length / the other's), among debates of the same two
    contestants in the same seats of one arm: the slope after both are centred in each such pair, so that a strong
    contestant who writes much is not called an effect of length (a fixed-effects regression; Dubois et al.,
    Length-Controlled AlpacaEval, 2024, give the reason). It is at most 100 points either way: a slope beyond that comes
    from lengths that hardly differ, and is not given.
accuracy: with known answers, the mean of 1, ½ (a tie), 0.
Brier score: calibration.py.
"""

from dataclasses import dataclass

import numpy as np

from app.statistics import calibration, clusters
from app.statistics.arrays import Codes, Floats, grouped, means
from app.statistics.judgments import AS_SPOKEN, NONE, SWAPPED, JudgmentArrays, by_debate, by_judge

BOTH_ORDERS, RANDOM_ORDER = "both_orders", "random_order"


@dataclass(frozen=True, slots=True)
class FirstPosition:
    """A preference for who is shown first."""

    estimate: clusters.Estimate
    basis: str | None = None
    """BOTH_ORDERS or RANDOM_ORDER."""


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
    first_position: FirstPosition
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
        brier=calibration.brier(own),
    )


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


def first_position(own: JudgmentArrays) -> FirstPosition:
    spoken, swapped, motion = both_orders(own)
    if len(motion):
        return FirstPosition(clusters.mean((spoken + 1 - swapped) / 2 - 0.5, motion), BOTH_ORDERS)
    known = own.of(own.order != NONE)
    if len(np.unique(known.order)) < 2:
        why = "All debates were judged in one order, so a preference for a position cannot be told from one for a side."
        return FirstPosition(clusters.Estimate(None, why=why))
    points, rows = by_debate(known.y, known)
    shown = np.where(known.order[rows] == AS_SPOKEN, 1.0, -1.0)
    arm = grouped(known.arm[rows])[0]
    x, y = clusters.centred(shown, arm), clusters.centred(points, arm)
    why = "All debates of an arm were judged in one order, so a preference for a position cannot be told from the arm."
    return FirstPosition(clusters.slope(x, y, known.motion[rows], why), RANDOM_ORDER)


def own_provider(everything: JudgmentArrays, number: int) -> clusters.Estimate:
    return _own(everything, number, everything.provider, everything.provider_side, "provider")


def own_model(everything: JudgmentArrays, number: int) -> clusters.Estimate:
    return _own(everything, number, everything.model, everything.model_side, "model")


def _own(everything: JudgmentArrays, number: int, key: Codes, side: Floats, what: str) -> clusters.Estimate:
    """`key` is each judge's provider or model, `side` which side is of it."""
    here = (everything.judge == number) & ~np.isnan(side)
    if not here.any():
        return clusters.Estimate(None, why=f"No debate had exactly one side from this judge's {what}.")
    mine = everything.of(here)
    others = everything.of((everything.judge != number) & (key != key[here][0]))
    own, first = by_debate(mine.y, mine)
    of_others, rows = by_judge(others.y, others)
    size = int(everything.debate.max()) + 1
    gap = own - means(of_others, others.debate[rows], size)[mine.debate[first]]
    judged = ~np.isnan(gap)
    if not judged.any():
        return clusters.Estimate(None, why=f"No judge of another {what} judged the same debates.")
    gap = gap[judged]
    return clusters.mean(np.where(side[here][first][judged] == 1, gap, -gap), mine.motion[first][judged])


def length(own: JudgmentArrays) -> clusters.Estimate:
    known = own.of(~np.isnan(own.doublings))
    if not len(known.y):
        return clusters.Estimate(None, why="The lengths of the speeches are not known.")
    points, rows = by_debate(known.y, known)
    pair = known.pair[rows]
    x, y = clusters.centred(known.doublings[rows], pair), clusters.centred(points, pair)
    constant = "The lengths do not differ between debates of the same contestants."
    found = clusters.slope(x, y, known.motion[rows], constant)
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
