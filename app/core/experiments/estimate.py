"""What an experiment will cost and how long it takes."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

_STANDARD_ERRORS = 1.96
"""On either side: 95 % of a normal distribution."""
MARGIN = 0.1
"""Of the cost, on either side."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    matches: int
    debate_calls: int
    judgments: int
    expected_usd: float | None
    """None where no price is known for one of the players."""
    at_most_usd: float | None
    expected_tokens: int
    seconds: float
    interval_usd: tuple[float, float] | None = None
    """The 95 % interval of the cost; None where this server has not called one of the paid models for that yet."""


@dataclass(frozen=True, slots=True)
class CallsToCome:
    """Calls of one kind, and the observed costs of such calls."""

    calls: int
    mean_usd: float
    deviation_usd: float
    """The standard deviation of one call."""
    seen: int


def cost_interval(kinds: Iterable[CallsToCome]) -> tuple[float, float]:
    """The calls to come differ from each other, and the mean of those seen is not the true one: an error in it counts
    for every call to come. The texts to come are others than those seen: nothing is known better than to MARGIN."""
    total = variance = 0.0
    for kind in kinds:
        total += kind.calls * kind.mean_usd
        variance += kind.calls * kind.deviation_usd**2
        variance += (kind.calls * kind.deviation_usd) ** 2 / max(1, kind.seen)
    half = _STANDARD_ERRORS * sqrt(variance) + MARGIN * total
    return max(0.0, total - half), total + half
