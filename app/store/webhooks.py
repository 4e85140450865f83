"""Webhooks, and the outbox of their deliveries. Triggers write the outbox; workers deliver from it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, case, delete, func, insert, select, text, update

from app.core.claims import Room
from app.core.webhooks import DueDelivery
from app.store import claimed_rows
from app.store.claimed_rows import DELIVERIES
from app.store.engine import Engine
from app.store.mapping import Mapped
from app.store.statements import count
from app.store.tables import webhook_deliveries, webhooks


@dataclass(frozen=True, slots=True)
class Webhook:
    id: UUID
    url: str
    events: tuple[str, ...]
    description: str | None
    created_at: datetime
    disabled_at: datetime | None
    disabled_reason: str | None
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Delivery:
    id: UUID
    webhook_id: UUID
    debate_id: UUID | None
    event: str
    data: dict[str, Any]
    created_at: datetime
    due_at: datetime | None
    attempts: int
    delivered_at: datetime | None
    last_status: int | None
    last_error: str | None

    @property
    def status(self) -> str:
        return "delivered" if self.delivered_at else "pending" if self.due_at else "given_up"


webhook_rows, delivery_rows = Mapped(Webhook), Mapped(Delivery)
_WEBHOOK = [webhooks.c[name] for name in webhook_rows.columns]
# A claimed one is being sent: it is due now. Python has no time for the `infinity` that the row has.
_due_at = case(
    (webhook_deliveries.c.due_at == text("'infinity'"), func.clock_timestamp()), else_=webhook_deliveries.c.due_at
).label("due_at")
_DELIVERY = [_due_at if name == "due_at" else webhook_deliveries.c[name] for name in delivery_rows.columns]

# For each endpoint a few of the oldest, and of each debate the oldest only: the next one follows when it was delivered.
_CLAIM = claimed_rows.claim_statement(
    DELIVERIES,
    """found AS MATERIALIZED (
    SELECT due.id, due.number, hook.url, hook.secret FROM webhooks AS hook
    LEFT JOIN unnest(%(hooks)s::uuid[], %(free)s::integer[]) AS room (id, free) ON room.id = hook.id
    CROSS JOIN LATERAL (
        SELECT id, number FROM webhook_deliveries AS one
        WHERE webhook_id = hook.id AND due_at <= clock_timestamp() AND claim_token IS NULL AND NOT EXISTS (
            SELECT FROM webhook_deliveries AS earlier
            WHERE earlier.webhook_id = hook.id AND earlier.debate_id = one.debate_id
              AND earlier.number < one.number AND earlier.due_at IS NOT NULL)
        ORDER BY number LIMIT coalesce(room.free, %(each)s) FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE hook.disabled_at IS NULL
), chosen AS MATERIALIZED (
    SELECT id, url, secret, row_number() OVER (ORDER BY number) AS number FROM found
    ORDER BY number LIMIT cardinality(%(tokens)s::uuid[])
)""",
    """webhook_deliveries.id, claim_token AS token, webhook_id, chosen.url, chosen.secret, event, data, created_at,
    attempts, extract(epoch FROM clock_timestamp() - created_at)::double precision AS age_seconds""",
)


def claim(engine: Engine, worker_id: str, room: Room) -> list[DueDelivery]:
    """An endpoint's share is its id."""
    given = {"hooks": list(room.free), "free": list(room.free.values()), "each": room.free_of_new}
    with engine.autocommit() as connection:
        claimed = claimed_rows.claim(connection, _CLAIM, worker_id, room.most, **given)
    return [DueDelivery(**row) for row in claimed]


def record_attempt(
    engine: Engine, claimed: DueDelivery, *, status: int | None, error: str | None, delay: float | None
) -> bool:
    """Records an attempt: delivered without an `error`. `delay`: until the next attempt; None when there is none. False
    when the claim is lost."""
    values: dict[str, Any] = {"attempts": claimed.attempts + 1, "last_status": status, "last_error": error}
    if error is None:
        values["delivered_at"] = func.clock_timestamp()
    with engine.begin() as connection:
        if delay is not None and _lock_enabled(connection, claimed.webhook_id):
            return claimed_rows.postpone(connection, DELIVERIES, claimed.id, claimed.token, delay, values)
        row_id = webhook_deliveries.c.id
        return claimed_rows.finish(connection, DELIVERIES, claimed.id, claimed.token, values, row_id) is not None


def _lock_enabled(connection: Connection, webhook_id: UUID) -> bool:
    """Keeps an enabled endpoint as it is until the transaction ends."""
    is_enabled = select(webhooks.c.id).where(webhooks.c.id == webhook_id, webhooks.c.disabled_at.is_(None))
    return connection.execute(is_enabled.with_for_update(read=True)).first() is not None


def disable(engine: Engine, webhook_id: UUID, reason: str) -> None:
    with engine.begin() as connection:
        connection.execute(
            update(webhooks)
            .where(webhooks.c.id == webhook_id)
            .values(disabled_at=func.clock_timestamp(), disabled_reason=reason)
        )
        connection.execute(
            update(webhook_deliveries).where(webhook_deliveries.c.webhook_id == webhook_id).values(due_at=None)
        )


def add(
    connection: Connection, webhook_id: UUID, url: str, events: Sequence[str], description: str | None, secret: str
) -> Webhook:
    given = {"id": webhook_id, "url": url, "events": list(events), "description": description, "secret": secret}
    return webhook_rows.value(
        connection.execute(insert(webhooks).values(**given).returning(*_WEBHOOK)).mappings().one()
    )


def get(connection: Connection, webhook_id: UUID) -> Webhook | None:
    return webhook_rows.one_or_none(connection, select(*_WEBHOOK).where(webhooks.c.id == webhook_id))


def list_all(connection: Connection) -> list[Webhook]:
    return webhook_rows.all(connection, select(*_WEBHOOK).order_by(webhooks.c.created_at))


def remove(connection: Connection, webhook_id: UUID) -> bool:
    return connection.execute(delete(webhooks).where(webhooks.c.id == webhook_id)).rowcount == 1


def add_delivery(connection: Connection, delivery_id: UUID, webhook_id: UUID, event: str, data: Any) -> Delivery:
    given = {"id": delivery_id, "webhook_id": webhook_id, "event": event, "data": data}
    statement = insert(webhook_deliveries).values(**given, due_at=func.clock_timestamp()).returning(*_DELIVERY)
    return delivery_rows.value(connection.execute(statement).mappings().one())


def deliveries(connection: Connection, webhook_id: UUID, at_most: int) -> list[Delivery]:
    """Newest first."""
    query = select(*_DELIVERY).where(webhook_deliveries.c.webhook_id == webhook_id)
    rows = connection.execute(query.order_by(webhook_deliveries.c.number.desc()).limit(at_most))
    return [delivery_rows.value(row) for row in rows.mappings()]


def count_finished(connection: Connection, before: datetime) -> int:
    return count(connection, select(webhook_deliveries.c.id).where(*_finished(before)))


def delete_finished(connection: Connection, before: datetime, at_most: int) -> int:
    """Returns how many were deleted. One that is replayed meanwhile stays."""
    some = select(webhook_deliveries.c.id).where(*_finished(before)).limit(at_most).with_for_update(skip_locked=True)
    return connection.execute(delete(webhook_deliveries).where(webhook_deliveries.c.id.in_(some))).rowcount


def _finished(before: datetime) -> tuple[ColumnElement[bool], ...]:
    """Delivered before this, or made before it and given up."""
    finished_at = func.coalesce(webhook_deliveries.c.delivered_at, webhook_deliveries.c.created_at)
    return webhook_deliveries.c.due_at.is_(None), finished_at < before


def replay(connection: Connection, webhook_id: UUID, delivery_id: UUID) -> Delivery | None:
    """Due again, under its id, for another three days. An attempt in flight no longer counts."""
    now = func.clock_timestamp()
    statement = (
        update(webhook_deliveries)
        .where(webhook_deliveries.c.id == delivery_id, webhook_deliveries.c.webhook_id == webhook_id)
        .values(due_at=now, created_at=now, attempts=0, delivered_at=None, claim_token=None, claimed_by=None)
        .returning(*_DELIVERY)
    )
    return delivery_rows.one_or_none(connection, statement)
