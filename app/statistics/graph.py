"""Who met whom, and who ever took a point from whom: what decides whether ratings exist.

Ratings compare all contestants only where the graph of meetings is connected, and are finite only where the directed
graph "took something from" is strongly connected. Source: Ford, Solution of a Ranking Problem from Binary Comparisons,
American Mathematical Monthly 64 (1957).
"""

import numpy as np
from numpy.typing import NDArray

from app.statistics.arrays import Floats


def connected_groups(met: Floats) -> list[list[int]]:
    """The groups of contestants that met among themselves alone; `met[i, j]` > 0 where i met j."""
    return _components(_reachable((met + met.T) > 0))


def strong_groups(gained: Floats) -> list[list[int]]:
    """The groups within which everybody took something from everybody, if not directly then over others;
    `gained[i, j]` > 0 where i ever won against j or tied."""
    reach = _reachable(gained > 0)
    return _components(reach & reach.T)


def _reachable(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    reach = edges | np.eye(len(edges), dtype=bool)
    while True:
        further = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
        if np.array_equal(further, reach):
            return reach
        reach = further


def _components(mutual: NDArray[np.bool_]) -> list[list[int]]:
    """The classes of an equivalence, the largest first."""
    groups = {tuple(np.flatnonzero(row).tolist()) for row in mutual}
    return sorted((list(group) for group in groups), key=lambda group: (-len(group), group))
