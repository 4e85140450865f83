"""What an experiment spent: on each contestant, on each judge, and on rulings and questions in its debates, with
tokens, time and failures. Sums, not estimates."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Spending:
    """What one contestant or judge, or the arbitrator, has used so far."""

    role: str
    """contestant, judge or arbitrator"""
    name: str
    calls: int = 0
    """Turns or judgments that are stored."""
    cost_usd: float | None = 0.0
    """None where a price is not known."""
    input_tokens: int = 0
    output_tokens: int = 0
    mean_seconds: float | None = None
    """Of one, without what it waited for."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Failed attempts, by the kind of failure where it is known."""


def costs(spent: Iterable[Spending] | None, total_usd: float | None) -> dict[str, Any]:
    """Sorted by cost, the highest first. None is not known. `other_usd` is the rest of the total: calls without a turn
    or a judgment."""
    rows = sorted(spent or (), key=lambda row: (-(row.cost_usd or 0.0), row.name))
    known = [row.cost_usd for row in rows if row.cost_usd is not None]
    rest = None if total_usd is None or len(known) < len(rows) else max(0.0, total_usd - sum(known))
    return {
        "total_usd": total_usd,
        "contestants": [_row(row, contestant=row.name) for row in rows if row.role == "contestant"],
        "judges": [_row(row, judge=row.name) for row in rows if row.role == "judge"],
        "arbitrator": next((_row(row) for row in rows if row.role == "arbitrator"), None),
        "other_usd": rest if rest is None or rest > _ROUNDING else 0.0,
    }


_ROUNDING = 1e-9


def _row(row: Spending, **named: str) -> dict[str, Any]:
    shown = asdict(row)
    del shown["role"], shown["name"]
    return {**named, **shown}
