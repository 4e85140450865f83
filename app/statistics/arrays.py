"""The arrays that everything here is computed from, and names as whole numbers."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
"""Names as numbers from 0 on."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of names: `names[codes[k]]` is the k-th."""

    names: list[str]
    codes: Codes

    @property
    def size(self) -> int:
        return len(self.names)


def coded(values: Iterable[str]) -> Coded:
    """Numbers names in their order."""
    column = list(values)
    names = sorted({*column})
    number = {name: code for code, name in enumerate(names)}
    return Coded(names, np.fromiter(map(number.__getitem__, column), np.int64, len(column)))


def totals(values: Floats, codes: Codes, size: int) -> Floats:
    """The sum of the values of each code."""
    return np.bincount(codes, weights=values, minlength=size).astype(np.float64)


def means(values: Floats, codes: Codes, size: int) -> Floats:
    """The mean of the values of each code; not a number where there are none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return totals(values, codes, size) / np.bincount(codes, minlength=size)


def grouped(*columns: Codes) -> tuple[Codes, Codes]:
    """Numbers the distinct rows of several columns: the number of each row, and where each number first occurs."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if len(column):
            key = key * (int(column.max()) + 1) + column
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return number.astype(np.int64), first.astype(np.int64)
