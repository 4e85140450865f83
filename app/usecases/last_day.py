"""The last day in figures: turns, failures, waiting, tokens and cost by hour, and tokens by model."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cachetools import TTLCache

from app.core.players import model_of
from app.models.table import has_price
from app.store import last_day, overview
from app.store.last_day import Delays, HourOfPlayer
from app.usecases.read import snapshot
from app.usecases.services import Services

HOURS = 24
MOST_TURNS = 500_000
KEPT_SECONDS = 60
"""Read once a minute in a process, however many pages ask."""


@dataclass(frozen=True, slots=True)
class Hour:
    begins_at: datetime
    turns: int
    tokens: int
    cost_usd: float
    failures: int
    delay_seconds: float


def _total(name: str) -> property:
    return property(lambda day: sum(getattr(hour, name) for hour in day.hours))


@dataclass(frozen=True, slots=True)
class LastDay:
    hours: tuple[Hour, ...]
    models: tuple[tuple[str, int, int, float | None], ...]
    """Player, turns, tokens and cost (None without a known price) of each model, the one with the most tokens first."""
    delay_seconds: float | None
    """The same for the whole day; None where no turn had to wait for a worker."""
    is_cut: bool
    """Whether there were more turns than are counted; then the oldest are missing."""

    turns = _total("turns")
    failures = _total("failures")
    tokens = _total("tokens")
    cost_usd = _total("cost_usd")


class LastDays:
    def __init__(self) -> None:
        self._kept: TTLCache[None, LastDay] = TTLCache(1, KEPT_SECONDS)

    def get(self, services: Services) -> LastDay:
        if None not in self._kept:
            with snapshot(services) as connection:
                now = overview.clock(connection)
                first = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
                self._kept[None] = summed(
                    last_day.by_hour(connection, first, MOST_TURNS),
                    first,
                    last_day.failures_by_hour(connection, first, MOST_TURNS),
                    last_day.delays(connection, first, MOST_TURNS),
                )
        return self._kept[None]


def summed(rows: Iterable[HourOfPlayer], first: datetime, failures: Mapping[datetime, int], delays: Delays) -> LastDay:
    hours = {first + timedelta(hours=number): [0, 0, 0.0] for number in range(HOURS)}
    models: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for row in rows:
        for sums in (hours.get(row.hour), models[row.player] if model_of(row.player) else None):
            if sums is not None:
                sums[0] += row.turns
                sums[1] += row.tokens
                sums[2] += row.cost_usd
    by_tokens = sorted(models.items(), key=lambda one: -one[1][1])
    found = tuple(
        Hour(at, int(turns), int(tokens), cost, failures.get(at, 0), delays.by_hour.get(at, 0.0))
        for at, (turns, tokens, cost) in hours.items()
    )
    named = tuple(
        (player, int(turns), int(tokens), cost if has_price(player) or not tokens else None)
        for player, (turns, tokens, cost) in by_tokens
    )
    return LastDay(found, named, delays.of_the_day, sum(hour.turns for hour in found) >= MOST_TURNS)
