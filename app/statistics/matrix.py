"""Each ordered pair of contestants: what the first one made of proposing against the second one.

mean = the proposer's share of the points over the pair's debates, with an interval clustered by motion
(clusters.share).
"""

from dataclasses import dataclass

import numpy as np

from app.statistics import clusters
from app.statistics.arrays import grouped
from app.statistics.ratings import Debates


@dataclass(frozen=True, slots=True)
class Cell:
    proposer: int
    opponent: int
    wins: int
    ties: int
    losses: int
    mean: clusters.Estimate


def cells(debates: Debates) -> list[Cell]:
    """The pairs that have debates, in the order of their numbers."""
    cell, first = grouped(debates.proposer, debates.opponent)
    order = np.argsort(cell, kind="stable")
    ends = np.cumsum(np.bincount(cell, minlength=len(first)))
    found = []
    for number, where in enumerate(first):
        rows = order[ends[number - 1] if number else 0 : ends[number]]
        y = debates.y[rows]
        found.append(
            Cell(
                int(debates.proposer[where]),
                int(debates.opponent[where]),
                *counted(y),
                clusters.share(y, debates.motion[rows]),
            )
        )
    return found


def counted(y: np.typing.NDArray[np.float64]) -> tuple[int, int, int]:
    """Wins, ties and losses: a debate is won by the side with more than half of its judgments' points."""
    return int((y > 0.5).sum()), int((y == 0.5).sum()), int((y < 0.5).sum())
