"""Quotas: what one agent's key may store and spend in a day (UTC)."""

import math
from dataclasses import dataclass

from app.core.rates import OFF


@dataclass(frozen=True, slots=True)
class Quota:
    bytes: int = 200_000_000
    """Of the requests that store something, of what a fork copies, and of plans of experiments."""
    usd: float = 25.0
    """On models: for the key's debates and experiments, and for judgments that it asked for."""

    @classmethod
    def parsed(cls, given: str) -> "Quota | None":
        """From `bytes=1000000,usd=2.5`; what is not named keeps its default. None for `off`."""
        if given.strip().lower() == OFF:
            return None
        limits: dict[str, float] = {}
        for part in given.split(","):
            name, _, amount = (word.strip() for word in part.partition("="))
            if name not in cls.__slots__:
                raise ValueError(f"{name!r} is none of {', '.join(cls.__slots__)}, nor `{OFF}`")
            if name in limits:
                raise ValueError(f"{name} is named twice")
            limits[name] = _amount(name, amount)
        return cls(int(limits.get("bytes", cls().bytes)), limits.get("usd", cls().usd))


def _amount(name: str, given: str) -> float:
    try:
        amount = float(int(given) if name == "bytes" else float(given))
    except ValueError:
        amount = 0.0
    if not 0 < amount <= 1e15 or not math.isfinite(amount):
        raise ValueError(f"{name} must be a {'whole ' if name == 'bytes' else ''}number above 0")
    return amount
