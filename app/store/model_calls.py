"""Slots of the providers of models, and the day's costs: what all workers share. Times are the database's."""

from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, Date, cast, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.store.tables import daily_costs, provider_slots, providers

_now = func.clock_timestamp()
LOWER_EVERY_SECONDS = 1.0
"""Calls that were under way together are refused together: that counts once."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider whose row this transaction has locked."""

    lowered_to: int | None
    seconds_since_lowered: float
    clock_seconds: float


def lock_provider(connection: Connection, name: str) -> Provider:
    connection.execute(insert(providers).values(name=name).on_conflict_do_nothing())
    since = func.coalesce(func.extract("epoch", _now - providers.c.lowered_at), 0)
    statement = select(providers.c.lowered_to, since, func.extract("epoch", _now)).where(providers.c.name == name)
    lowered_to, seconds, clock = connection.execute(statement.with_for_update()).one()
    return Provider(lowered_to, float(seconds), float(clock))


def lower_provider(connection: Connection, name: str, to: int) -> bool:
    """False when it was lowered a moment ago. The row must be locked."""
    long_ago = providers.c.lowered_at < _now - timedelta(seconds=LOWER_EVERY_SECONDS)
    statement = update(providers).where(providers.c.name == name, providers.c.lowered_at.is_(None) | long_ago)
    return connection.execute(statement.values(lowered_to=to, lowered_at=_now)).rowcount == 1


def slots_of_others(connection: Connection, provider: str, worker_id: str) -> dict[str, tuple[int, int]]:
    """worker → (held, wanted), of those that are alive."""
    slots = provider_slots
    statement = select(slots.c.worker_id, slots.c.held, slots.c.wanted).where(
        slots.c.provider == provider, slots.c.worker_id != worker_id, slots.c.expires_at > _now
    )
    return {other: (held, wanted) for other, held, wanted in connection.execute(statement)}


def write_slots(
    connection: Connection, provider: str, worker_id: str, held: int, wanted: int, lease_seconds: float
) -> None:
    """With nothing held and nothing wanted the row goes; and so do those of processes that died."""
    slots = provider_slots
    gone = (slots.c.expires_at < _now) | ((slots.c.worker_id == worker_id) & (held == 0 and wanted == 0))
    connection.execute(delete(slots).where(slots.c.provider == provider, gone))
    if held or wanted:
        values = {"held": held, "wanted": wanted, "expires_at": _now + timedelta(seconds=lease_seconds)}
        statement = insert(slots).values(provider=provider, worker_id=worker_id, **values)
        connection.execute(statement.on_conflict_do_update(index_elements=["provider", "worker_id"], set_=values))


@dataclass(frozen=True, slots=True)
class Refused:
    """The day's limit does not allow this call."""

    is_spent: bool
    """Spent; otherwise only reserved by calls that are under way, and most of it will be given back."""
    seconds_left: float
    """Of this day."""


_today = cast(func.timezone("UTC", _now), Date)


def reserve_cost(connection: Connection, amount: float, limit: float) -> date | Refused:
    """Sets the amount aside; returns the day on which it is to be settled."""
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
    return Refused(spent + amount > limit, float(seconds))


def settle_cost(connection: Connection, day: date, reserved: float, spent: float) -> None:
    costs = daily_costs
    left = func.greatest(0, costs.c.reserved_usd - reserved)
    statement = update(costs).where(costs.c.day == day)
    connection.execute(statement.values(reserved_usd=left, spent_usd=costs.c.spent_usd + spent))
