"""Whether judges agree beyond chance, over debates. A judge's opinion of a debate is the side that has more of its
points over orders and repeats, or a tie.

Cohen's kappa of two judges: (p_o - p_e) / (1 - p_e), with p_o the share of debates on which they agree and p_e the
share that two independent judges with the same habits would agree on (Educational and Psychological Measurement 20,
1960). Krippendorff's alpha, nominal, of any number of judges and with gaps: 1 - D_o / D_e, from the coincidences of
opinions within debates (Content Analysis, 4th ed., 2018, chapter 12).

Both are 1 for agreement, 0 for what chance gives, and have no value where there is one opinion alone. Intervals are the
2.5 % and 97.5 % points over draws of motions with replacement (Efron and Tibshirani, An Introduction to the Bootstrap,
1993): a motion's debates stay together. The draws come from a seed, so that the same data give the same figures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from app.statistics.arrays import Codes, Floats, grouped, means
from app.statistics.clusters import UPPER, Estimate

KINDS = 3
"""proposer, tie, opponent"""
DRAWS = 1000
_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Opinions:
    """One entry for each judge and debate: the kind of opinion."""

    debate: Codes
    motion: Codes
    judge: Codes
    kind: Codes


def opinions(debate: Codes, motion: Codes, judge: Codes, y: Floats) -> Opinions:
    """From judgments: several of one judge on one debate are one opinion."""
    number, first = grouped(debate, judge)
    points = means(y, number, len(first))
    kind = np.where(points > 0.5, 0, np.where(points < 0.5, 2, 1)).astype(np.int64)
    return Opinions(debate[first], motion[first], judge[first], kind)


def agreement(found: Opinions, judges: int, seed: int) -> tuple[Estimate, dict[tuple[int, int], Estimate]]:
    """Krippendorff's alpha of all, and Cohen's kappa of each two judges. All draw the same motions. Counted are the
    debates that at least two of the judges judged."""
    motion, motions = grouped(found.motion)
    within = Opinions(found.debate, motion, found.judge, found.kind)
    pairs = list(combinations(range(judges), 2))
    of_pairs = [_opinions_of_two(within, first, second, len(motions)) for first, second in pairs]
    tables, counts = zip(_coincidences(within, len(motions)), *of_pairs, strict=True)
    figures = [_alpha, *[_kappa] * len(pairs)]
    reasons = ["No debate was judged by two judges.", *["They judged no debate in common."] * len(pairs)]
    draws = _drawn(np.hstack(tables), figures, seed)
    alpha, *kappas = (_figure(*each) for each in zip(tables, figures, counts, draws.T, reasons, strict=True))
    return alpha, dict(zip(pairs, kappas, strict=True))


def _opinions_of_two(found: Opinions, first: int, second: int, motions: int) -> tuple[Floats, int]:
    """For each motion a table of KINDS x KINDS, as a row: how often the first said this and the second that."""
    size = int(found.debate.max()) + 1 if len(found.debate) else 0
    kinds = np.full((2, size), -1, np.int64)
    motion = np.zeros(size, np.int64)
    motion[found.debate] = found.motion
    for row, judge in enumerate((first, second)):
        here = found.judge == judge
        kinds[row, found.debate[here]] = found.kind[here]
    both = (kinds >= 0).all(axis=0)
    cell = motion[both] * KINDS**2 + kinds[0, both] * KINDS + kinds[1, both]
    return np.bincount(cell, minlength=motions * KINDS**2).reshape(motions, KINDS**2).astype(np.float64), int(
        both.sum()
    )


def _coincidences(found: Opinions, motions: int) -> tuple[Floats, int]:
    """For each motion the coincidences of opinions within its debates, as a row: each pair of a debate's m opinions
    counts 1 / (m - 1)."""
    debate, first = grouped(found.debate)
    counts = np.zeros((len(first), KINDS))
    np.add.at(counts, (debate, found.kind), 1)
    judges = counts.sum(axis=1)
    paired = judges >= 2
    counts, judges, motion = counts[paired], judges[paired], found.motion[first][paired]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(KINDS)
    tables = np.zeros((motions, KINDS**2))
    np.add.at(tables, motion, (pairs / (judges[:, None, None] - 1)).reshape(len(judges), KINDS**2))
    return tables, int(paired.sum())


def _drawn(tables: Floats, figures: Sequence[Callable[[Floats], Floats]], seed: int) -> Floats:
    """The value of each figure in each draw of motions."""
    motions = len(tables)
    draws = np.random.default_rng(seed)
    values = np.full((DRAWS, len(figures)), np.nan)
    for start in range(0, DRAWS if motions > 1 else 0, _AT_ONCE):  # in parts: all draws at once would be much memory
        weights = np.stack(
            [np.bincount(row, minlength=motions) for row in draws.integers(motions, size=(_AT_ONCE, motions))]
        )
        sums = (weights.astype(np.float64) @ tables).reshape(_AT_ONCE, len(figures), -1)
        for column, figure in enumerate(figures):
            values[start : start + _AT_ONCE, column] = figure(sums[:, column])
    return values


def _figure(tables: Floats, figure: Callable[[Floats], Floats], n: int, draws: Floats, alone: str) -> Estimate:
    if not n:
        return Estimate(None, why=alone)
    value = float(figure(tables.sum(axis=0, keepdims=True))[0])
    if np.isnan(value):
        return Estimate(None, n=n, why="All judgments were the same, so agreement cannot be told from chance.")
    if (tables.sum(axis=1) > 0).sum() < 2:
        return Estimate(value, n=n, why="There is only one motion, so there is no interval.")
    low, high = np.nanquantile(draws, [1 - UPPER, UPPER])
    return Estimate(value, float(low), float(high), n)


def _kappa(tables: Floats) -> Floats:
    """Of each row, a table of two judges' opinions."""
    square = tables.reshape(-1, KINDS, KINDS)
    n = square.sum(axis=(1, 2))
    agree = np.trace(square, axis1=1, axis2=2) / np.maximum(n, 1)
    chance = (square.sum(axis=1) * square.sum(axis=2)).sum(axis=1) / np.maximum(n, 1) ** 2
    known = (n > 0) & (chance < 1 - 1e-12)
    return np.where(known, (agree - chance) / np.where(known, 1 - chance, 1), np.nan)


def _alpha(tables: Floats) -> Floats:
    """Of each row, a table of coincidences."""
    square = tables.reshape(-1, KINDS, KINDS)
    of_kind = square.sum(axis=2)
    n = of_kind.sum(axis=1)
    observed = n - np.trace(square, axis1=1, axis2=2)
    expected = (n**2 - (of_kind**2).sum(axis=1)) / np.maximum(n - 1, 1)
    known = expected > 1e-12
    return np.where(known, 1 - observed / np.where(known, expected, 1), np.nan)
