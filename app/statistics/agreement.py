"""Whether judges agree beyond chance, over debates. A judge's opinion of a debate is the side that has more of its
points over orders and repeats, or a tie.

Cohen's kappa of two judges: (p_o - p_e) / (1 - p_e), with p_o the share of debates on which they agree and p_e the
share that two independent judges with the same habits would agree on (Educational and Psychological Measurement 20,
1960). Krippendorff's alpha, nominal, of any number of judges and with gaps: 1 - D_o / D_e, from the coincidences of
opinions within debates (Content Analysis, 4th ed., 2018, chapter 12).

Decisive: of the pairs of judges on a debate who both named a winner, the share that named the same one. It is not
corrected for chance, so it compares with papers that leave ties out.

Kappa and alpha are 1 for agreement, 0 for what chance gives, and have no value where there is one opinion alone. Their
intervals are the 2.5 % and 97.5 % points over draws of motions with replacement (Efron and Tibshirani, An Introduction
to the Bootstrap, 1993): a motion's debates stay together. The draws come from a seed, so that the same data give the
same figures.

What is drawn grows with the pairs and the motions: beyond MOST_PAIRS pairs, and beyond MOST_CELLS of pairs times
motions, kappa is given for the pairs alone that share the most debates.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.statistics.arrays import Codes, Floats, grouped, means
from app.statistics.clusters import UPPER, Estimate

Kinds = NDArray[np.int8]
Counts = NDArray[np.float32]
"""Whole numbers. Their sums over the debates of an experiment are exact, and twice as fast as in double precision."""
KINDS = 3
"""proposer, tie, opponent"""
DRAWS = 1000
MOST_PAIRS = 120
MOST_CELLS = 1_000_000
_AT_ONCE = 500
_MOST_WEIGHTS = 1_000_000
_BLOCK = 10_000
"""Of debates."""


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
    """Krippendorff's alpha of all, and Cohen's kappa of each two judges, or of those that share the most debates. All
    draw the same motions. Counted are the debates that at least two of the judges judged."""
    motion, motions = grouped(found.motion)
    within = Opinions(found.debate, motion, found.judge, found.kind)
    said = _said(within, judges)
    pairs = _largest(said, min(MOST_PAIRS, MOST_CELLS // max(1, len(motions))))
    of_all, together = _coincidences(within, len(motions))
    of_pairs = np.empty((len(motions), len(pairs), KINDS**2), np.float32)
    motion_of = np.zeros(said.shape[1], np.int64)
    motion_of[within.debate] = within.motion
    counts = [_of_two(said[[*pair]], motion_of, of_pairs[:, place]) for place, pair in enumerate(pairs)]
    alphas, kappas = _drawn(of_all, of_pairs, seed)
    alpha = _figure(of_all, _alpha, together, alphas, "No debate was judged by two judges.")
    found_of: dict[tuple[int, int], Estimate] = {}
    for place, (pair, n) in enumerate(zip(pairs, counts, strict=True)):
        tables = of_pairs[:, place].astype(np.float64)
        found_of[pair] = _figure(tables, _kappa, n, kappas[:, place], "They judged no debate in common.")
    return alpha, found_of


def decisive(found: Opinions) -> tuple[float | None, int]:
    """Of all two judges of a debate who each named a winner, the share that named the same one; and how many such pairs
    there are."""
    debate, first = grouped(found.debate)
    sides = [np.bincount(debate[found.kind == kind], minlength=len(first)).astype(np.int64) for kind in (0, KINDS - 1)]
    alike = sum(int((side * (side - 1) // 2).sum()) for side in sides)
    pairs = alike + int((sides[0] * sides[1]).sum())
    return (alike / pairs if pairs else None), pairs


def _said(found: Opinions, judges: int) -> Kinds:
    """A row for each judge, with its kind of opinion of each debate; -1 where it has none."""
    kinds = np.full((judges, int(found.debate.max()) + 1 if len(found.debate) else 0), -1, np.int8)
    kinds[found.judge, found.debate] = found.kind
    return kinds


def _largest(said: Kinds, at_most: int) -> list[tuple[int, int]]:
    """Pairs of judges, in their order; of too many those with the most debates in common."""
    first, second = np.triu_indices(len(said), 1)
    shared = np.zeros((len(said), len(said)))
    for start in range(0, said.shape[1] if len(first) > at_most else 0, _BLOCK):
        judged = (said[:, start : start + _BLOCK] >= 0).astype(np.float64)
        shared += judged @ judged.T
    chosen = np.sort(np.argsort(-shared[first, second], kind="stable")[: max(1, at_most)])
    return list(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))


def _of_two(said: Kinds, motion_of: Codes, table: Counts) -> int:
    """Writes for each motion a table of KINDS x KINDS, as a row: how often the first said this and the second that.
    Returns how many debates both judged."""
    both = (said >= 0).all(axis=0)
    kinds = said[:, both].astype(np.int64)
    cell = motion_of[both] * KINDS**2 + kinds[0] * KINDS + kinds[1]
    table[:] = np.bincount(cell, minlength=table.size).reshape(table.shape)
    return int(both.sum())


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


def _drawn(of_all: Floats, of_pairs: Counts, seed: int) -> tuple[Floats, Floats]:
    """The value in each draw of motions: of alpha, and of each pair's kappa."""
    motions, pairs, _ = of_pairs.shape
    draws = np.random.default_rng(seed)
    alphas, kappas = np.full(DRAWS, np.nan), np.full((DRAWS, pairs), np.nan)
    at_once = max(1, min(_AT_ONCE, _MOST_WEIGHTS // max(1, motions)))
    flat = of_pairs.reshape(motions, -1)
    for start in range(0, DRAWS if motions > 1 else 0, at_once):  # in parts: all draws together need much memory
        size = min(at_once, DRAWS - start)
        chosen = draws.integers(motions, size=(size, motions))
        weights = np.stack([np.bincount(row, minlength=motions) for row in chosen])
        part = slice(start, start + size)
        alphas[part] = _alpha(weights.astype(np.float64) @ of_all)
        sums = (weights.astype(np.float32) @ flat).astype(np.float64)
        kappas[part] = _kappa(sums).reshape(size, pairs)
    return alphas, kappas


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
