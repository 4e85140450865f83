"""How likely judges think a side is correct before, during and after a debate.

belief(k) = mean over debates of the probability that judges give to that side after round k, 0 being before any speech.
    The judgment of the whole debate is the belief after its last round. Only debates that have such a belief count, so
    later rounds are about the debates that continued.
swing = mean over debates of (the belief in the whole debate - the belief before any speech).

Both are clustered by motion (clusters.py). A debate counts once, as the mean of its judges, of whom each counts once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.statistics import clusters
from app.statistics.arrays import Codes, Floats, grouped, means
from app.statistics.judgments import NONE


@dataclass(frozen=True, slots=True)
class Beliefs:
    """One entry for each judgment, of one arm."""

    debate: Codes
    motion: Codes
    judge: Codes
    round: Codes
    """Of a judgment of the whole debate its last round, or NONE where that is not known."""
    is_whole: NDArray[np.bool_]
    probability: Floats
    """Of the side that is asked about."""

    def of(self, chosen: NDArray[np.bool_] | Codes) -> "Beliefs":
        return Beliefs(*(getattr(self, name)[chosen] for name in Beliefs.__slots__))


@dataclass(frozen=True, slots=True)
class AfterRound:
    round: int
    judge: int | None
    """None: all judges."""
    mean: clusters.Estimate


@dataclass(frozen=True, slots=True)
class Swing:
    before: float | None
    final: float | None
    estimate: clusters.Estimate


def after_rounds(found: Beliefs) -> Iterator[AfterRound]:
    """Of all judges, then of each one."""
    known = found.of(found.round != NONE)
    number, first = grouped(known.debate, known.judge, known.round)
    each, values = known.of(first), means(known.probability, number, len(first))
    yield from _by_round(each, values, None)
    for judge in np.unique(each.judge).tolist():
        yield from _by_round(each.of(each.judge == judge), values[each.judge == judge], judge)


def _by_round(each: Beliefs, values: Floats, judge: int | None) -> Iterator[AfterRound]:
    for after in np.unique(each.round).tolist():
        here = each.round == after
        debate, first = grouped(each.debate[here])
        yield AfterRound(
            after, judge, clusters.share(means(values[here], debate, len(first)), each.motion[here][first])
        )


def swing(found: Beliefs) -> Swing:
    opinion, first = grouped(found.debate, found.judge)
    starts = (found.round == 0) & ~found.is_whole
    before, final = (means(found.probability[here], opinion[here], len(first)) for here in (starts, found.is_whole))
    both = ~np.isnan(before + final)
    if not both.any():
        why = "No judge said what it believed both before a debate and after it."
        return Swing(None, None, clusters.Estimate(None, why=why))
    debate, rows = grouped(found.debate[first][both])
    of_debates = [means(values[both], debate, len(rows)) for values in (before, final)]
    estimate = clusters.mean(of_debates[1] - of_debates[0], found.motion[first][both][rows])
    return Swing(float(of_debates[0].mean()), float(of_debates[1].mean()), estimate)
