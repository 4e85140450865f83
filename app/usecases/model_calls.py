"""What worker processes agree on about model calls: how many at once, and how much money in a day."""

from dataclasses import dataclass
from datetime import date

import structlog

from app.core import slots
from app.store import model_calls as store
from app.store.model_calls import Refused
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)

LEASE_SECONDS = 10.0
"""Slots of a process that was not heard of for this long are free."""
_ROTATE_EVERY_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Reservation:
    day: date
    amount_usd: float


@repeated_on_conflict
def share_slots(services: Services, provider: str, worker_id: str, held: int, wanted: int) -> int:
    """Says what this process holds and wants of the provider's slots; returns how many it may hold from now on.

    One short transaction under the lock of the provider's row. What is written down as held is never less than what
    calls have in use, in any process: so all together never have more than the limit.
    """
    with services.engine.begin() as connection:
        locked = store.lock_provider(connection, provider)
        limit = _limit(services, locked)
        others = store.slots_of_others(connection, provider, worker_id)
        demands = {other: demand for other, (_, demand) in others.items()} | {worker_id: wanted}
        turn = int(locked.clock_seconds // _ROTATE_EVERY_SECONDS)
        share = slots.fair_shares(limit, demands, turn)[worker_id]
        may_hold = slots.allowed(limit, share, sum(other_held for other_held, _ in others.values()))
        store.write_slots(connection, provider, worker_id, max(held, may_hold), wanted, LEASE_SECONDS)
    return may_hold


@repeated_on_conflict
def slow_down(services: Services, provider: str) -> None:
    """The provider said "too many requests": all workers together hold back, and come up again over a minute."""
    with services.engine.begin() as connection:
        now = _limit(services, store.lock_provider(connection, provider))
        to = slots.lowered(now)
        lowered = store.lower_provider(connection, provider, to)
    if lowered:
        log.warning("provider.slowed_down", provider=provider, calls_at_once=to)


def _limit(services: Services, provider: store.Provider) -> int:
    configured = services.settings.model_concurrency
    if provider.lowered_to is None:
        return configured
    return slots.recovered(configured, provider.lowered_to, provider.seconds_since_lowered)


@repeated_on_conflict
def reserve(services: Services, amount_usd: float) -> Reservation | Refused:
    """Sets aside what a call may cost at the most, if the day's limit has room for it."""
    limit = services.settings.max_cost_usd_per_day
    with services.engine.begin() as connection:
        reserved = store.reserve_cost(connection, amount_usd, float("inf") if limit is None else limit)
    return reserved if isinstance(reserved, Refused) else Reservation(reserved, amount_usd)


@repeated_on_conflict
def settle(services: Services, reservation: Reservation, spent_usd: float) -> None:
    """Puts what the call has cost in the place of what was set aside for it."""
    with services.engine.begin() as connection:
        store.settle_cost(connection, reservation.day, reservation.amount_usd, spent_usd)
