"""The same comparisons, rated by two independent libraries: evalica and choix.

They know no sides. The models coincide where the sides cancel, so each debate is counted from both sides.
"""

from dataclasses import dataclass

import choix
import evalica
import numpy as np

from app.statistics import ratings
from app.statistics.arrays import Floats
from scripts.truth.simulated import CONTESTANTS, JUDGMENTS, MOTIONS, chances, held


@dataclass(frozen=True)
class Agreement:
    experiments: int
    evalica: float
    """The largest gap between a rating here and there, in Elo points."""
    choix: float


def agreement(experiments: int, seed: int) -> Agreement:
    rng = np.random.default_rng(seed)
    gaps = []
    for _ in range(experiments):
        debates = held(chances(rng, MOTIONS), rng)
        ours = ratings.ELO * ratings.fit(_from_both_sides(debates), CONTESTANTS).theta
        gaps.append([np.abs(ours - theirs).max() for theirs in (by_evalica(debates), by_choix(debates))])
    return Agreement(experiments, *(float(gap) for gap in np.max(gaps, axis=0)))


def _from_both_sides(debates: ratings.Debates) -> ratings.Debates:
    return ratings.Debates(
        np.concatenate([debates.proposer, debates.opponent]),
        np.concatenate([debates.opponent, debates.proposer]),
        np.tile(debates.motion, 2),
        np.concatenate([debates.y, 1 - debates.y]),
    )


def by_evalica(debates: ratings.Debates, contestants: int = CONTESTANTS, judgments: int = JUDGMENTS) -> Floats:
    won = [(i, j, evalica.Winner.X) for i, j in _wins(debates, judgments)]
    first, second, winners = zip(*won, strict=True)
    scores = evalica.bradley_terry(
        [str(i) for i in first], [str(j) for j in second], winners, tolerance=1e-12, limit=10_000
    )
    return _elo(np.log(np.array([scores.scores[str(i)] for i in range(contestants)])))


def by_choix(debates: ratings.Debates, contestants: int = CONTESTANTS, judgments: int = JUDGMENTS) -> Floats:
    return _elo(choix.opt_pairwise(contestants, list(_wins(debates, judgments)), alpha=0, tol=1e-10))


def _elo(theta: Floats) -> Floats:
    return ratings.ELO * (theta - theta.mean())


def _wins(debates: ratings.Debates, judgments: int) -> list[tuple[int, int]]:
    """Each judgment as (winner, loser)."""
    found = []
    for i, j, y in zip(debates.proposer, debates.opponent, debates.y, strict=True):
        points = round(y * judgments)
        found += [(int(i), int(j))] * points + [(int(j), int(i))] * (judgments - points)
    return found
