"""What is known of a player's calls of one kind."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.schedules import StepKind


@dataclass(frozen=True, slots=True)
class SeenCalls:
    """Means over the calls that this server has seen."""

    calls: int
    input_tokens: float
    output_tokens: float
    output_deviation: float
    """The standard deviation of the output tokens."""
    cost_usd: float
    seconds: float | None
    said_bytes: float | None
    instructions: float | None
    """Bytes; None, as tokens_per_byte is, where no prompt was kept."""
    tokens_per_byte: float | None


Seen = Mapping[tuple[str, StepKind], SeenCalls]
"""By player and kind of call."""
