"""Slots of the model providers, and the costs of a day, shared by all workers. Times are the database's."""

from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, Date, cast, delete, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert

from app.store.tables import daily_costs, provider_slots, providers

_now = func.clock_timestamp()
_seconds_since_lowered = func.coalesce(func.extract("epoch", _now - providers.c.lowered_at), 0)
_today = cast(func.timezone("UTC", _now), Date)
LOWER_EVERY_SECONDS = 1.0
"""Calls in flight together are rate-limited together: that lowers the limit once."""


@dataclass(frozen=True, slots=True)
class ProviderLimit:
    """A provider, its row locked by this transaction."""

    lowered_to: int | None
    seconds_since_lowered: float
    clock_seconds: float


@dataclass(frozen=True, slots=True)
class SlotsNow:
    """Of a provider, over all live workers."""

    provider: str
    held: int
    wanted: int
    lowered_to: int | None
    seconds_since_lowered: float


_SLOTS_NOW = (
    select(
        providers.c.name,
        func.coalesce(func.sum(provider_slots.c.held), 0),
        func.coalesce(func.sum(provider_slots.c.wanted), 0),
        providers.c.lowered_to,
        _seconds_since_lowered,
    )
    .outerjoin(provider_slots, (provider_slots.c.provider == providers.c.name) & (provider_slots.c.expires_at > _now))
    .group_by(providers.c.name)
    .order_by(providers.c.name)
)


def slots_now(connection: Connection) -> list[SlotsNow]:
    """Of the providers that were ever called."""
    rows = connection.execute(_SLOTS_NOW)
    return [SlotsNow(name, held, wanted, lowered, float(seconds)) for name, held, wanted, lowered, seconds in rows]


def costs_today(connection: Connection) -> tuple[float, float, int]:
    """Spent and reserved, in dollars, and calls without a known price."""
    columns = (daily_costs.c.spent_usd, daily_costs.c.reserved_usd, daily_costs.c.unpriced_calls)
    row = connection.execute(select(*columns).where(daily_costs.c.day == _today)).one_or_none()
    return (row[0], row[1], row[2]) if row else (0.0, 0.0, 0)


def lock_provider(connection: Connection, name: str) -> ProviderLimit:
    connection.execute(insert(providers).values(name=name).on_conflict_do_nothing())
    columns = (providers.c.lowered_to, _seconds_since_lowered, func.extract("epoch", _now))
    statement = select(*columns).where(providers.c.name == name)
    lowered_to, seconds, clock = connection.execute(statement.with_for_update()).one()
    return ProviderLimit(lowered_to, float(seconds), float(clock))


def lower_provider(connection: Connection, name: str, to: int) -> bool:
    """False when it was lowered less than LOWER_EVERY_SECONDS ago. The row must be locked."""
    long_ago = providers.c.lowered_at < _now - timedelta(seconds=LOWER_EVERY_SECONDS)
    statement = update(providers).where(providers.c.name == name, providers.c.lowered_at.is_(None) | long_ago)
    return connection.execute(statement.values(lowered_to=to, lowered_at=_now)).rowcount == 1


def slots_of_others(connection: Connection, provider: str, worker_id: str) -> dict[str, tuple[int, int]]:
    """worker → (held, wanted), of live workers."""
    slots = provider_slots
    statement = select(slots.c.worker_id, slots.c.held, slots.c.wanted).where(
        slots.c.provider == provider, slots.c.worker_id != worker_id, slots.c.expires_at > _now
    )
    return {other: (held, wanted) for other, held, wanted in connection.execute(statement)}


def write_slots(
    connection: Connection, provider: str, worker_id: str, held: int, wanted: int, lease_seconds: float
) -> None:
    """Deletes the row where nothing is held or wanted, and the rows of dead workers."""
    slots = provider_slots
    gone = (slots.c.expires_at < _now) | ((slots.c.worker_id == worker_id) & (held == 0 and wanted == 0))
    connection.execute(delete(slots).where(slots.c.provider == provider, gone))
    if held or wanted:
        values = {"held": held, "wanted": wanted, "expires_at": _now + timedelta(seconds=lease_seconds)}
        statement = insert(slots).values(provider=provider, worker_id=worker_id, **values)
        connection.execute(statement.on_conflict_do_update(index_elements=["provider", "worker_id"], set_=values))


@dataclass(frozen=True, slots=True)
class DayRefused:
    """The day's limit does not allow this call."""

    is_spent: bool
    """Otherwise it is only reserved by calls in flight, and most of it will be released."""
    seconds_left: float
    """Of this day."""


def reserve_cost(connection: Connection, amount: float, limit: float) -> date | DayRefused:
    """Reserves the amount; returns the day on which to record the cost."""
    costs = daily_costs
    connection.execute(insert(costs).from_select(["day"], select(_today)).on_conflict_do_nothing())
    fits = costs.c.reserved_usd + costs.c.spent_usd + amount <= limit
    statement = update(costs).where(costs.c.day == _today, fits)
    reserved: date | None = connection.execute(
        statement.values(reserved_usd=costs.c.reserved_usd + amount).returning(costs.c.day)
    ).scalar()
    if reserved is not None:
        return reserved
    left = 86_400 - func.extract("epoch", _now) % 86_400
    row = connection.execute(select(costs.c.spent_usd, left).where(costs.c.day == _today)).one_or_none()
    spent, seconds = row or (0.0, 0.0)  # the day has just ended
    return DayRefused(spent + amount > limit, float(seconds))


def record_cost(connection: Connection, day: date, reserved: float, spent: float) -> None:
    costs = daily_costs
    left = func.greatest(0, costs.c.reserved_usd - reserved)
    statement = update(costs).where(costs.c.day == day)
    connection.execute(statement.values(reserved_usd=left, spent_usd=costs.c.spent_usd + spent))


def add_cost(connection: Connection, spent: float, unpriced_calls: int) -> None:
    """Of calls for which nothing was reserved."""
    new = insert(daily_costs).from_select(
        ["day", "spent_usd", "unpriced_calls"], select(_today, literal(spent), literal(unpriced_calls))
    )
    sums = {name: daily_costs.c[name] + new.excluded[name] for name in ("spent_usd", "unpriced_calls")}
    connection.execute(new.on_conflict_do_update(index_elements=["day"], set_=sums))
