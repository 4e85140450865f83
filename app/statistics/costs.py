"""What an experiment spent: on each contestant and each judge money, tokens, time and failures. Sums, not estimates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Spending:
    """What one contestant or judge has used so far."""

    role: str
    """contestant or judge"""
    name: str
    calls: int = 0
    cost_usd: float | None = 0.0
    """None where a price is not known."""
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float | None = None
    """Of all calls together."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Failed matches or judgments, by the kind of failure where it is known."""


def costs(spent: Iterable[Spending] | None) -> dict[str, Any]:
    """Sorted by cost, the highest first. None is not known."""
    if spent is None:
        return {"total_usd": None, "contestants": [], "judges": []}
    rows = sorted(spent, key=lambda row: (-(row.cost_usd or 0.0), row.name))
    known = [row.cost_usd for row in rows if row.cost_usd is not None]
    return {
        "total_usd": sum(known) if len(known) == len(rows) else None,
        "contestants": [_row(row, "contestant") for row in rows if row.role == "contestant"],
        "judges": [_row(row, "judge") for row in rows if row.role == "judge"],
    }


def _row(row: Spending, role: str) -> dict[str, Any]:
    return {
        role: row.name,
        "calls": row.calls,
        "cost_usd": row.cost_usd,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "mean_seconds": row.seconds / row.calls if row.seconds is not None and row.calls else None,
        "failures": dict(row.failures),
    }
