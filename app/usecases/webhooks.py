"""Webhooks: register, list, remove, test and replay, for the operator; claim and record deliveries, for workers."""

import base64
import ipaddress
import random
import re
import secrets
from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import UUID

import structlog

from app.core.access import Action, Caller, require
from app.core.claims import Room
from app.core.errors import InvalidInput, NotFound, or_raise
from app.core.retry import PlayerError
from app.core.texts import checked_text
from app.core.webhooks import TEST_EVENT, DueDelivery, delay_after, why_refused
from app.observe import metrics
from app.store import webhooks
from app.store.engine import Connection
from app.store.ids import new_id
from app.store.webhooks import Delivery, Webhook
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)
jitter = random.SystemRandom().random

MAX_URL_BYTES = 2_000
_ENDS_IN_A_NUMBER = re.compile(r"(^|\.)(\d+|0x[0-9a-f]*)\.?$", re.IGNORECASE)
"""Some resolvers take such a name for an address, in the old spellings (127.1, 0x7f000001)."""
MOST_SHOWN = 100
GONE = 410


@repeated_on_conflict
def add_webhook(
    services: Services, caller: Caller, url: str, events: Sequence[str], description: str | None
) -> Webhook:
    require(caller, Action.MANAGE)
    _check_url(url, services.settings.webhooks_private)
    if description is not None:
        checked_text("description", description, services.settings.max_content_length)
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    with services.engine.begin() as connection:
        made = webhooks.add(connection, new_id(), url, list(dict.fromkeys(events)), description, secret)
    log.info("webhook.added", webhook_id=str(made.id), by=caller.name)
    return made


def list_webhooks(services: Services, caller: Caller) -> list[Webhook]:
    require(caller, Action.MANAGE)
    with services.engine.statements() as connection:
        return webhooks.list_all(connection)


def get_webhook(services: Services, caller: Caller, webhook_id: UUID) -> Webhook:
    require(caller, Action.MANAGE)
    with services.engine.statements() as connection:
        return _existing(connection, webhook_id)


@repeated_on_conflict
def remove_webhook(services: Services, caller: Caller, webhook_id: UUID) -> None:
    require(caller, Action.MANAGE)
    with services.engine.begin() as connection:
        if not webhooks.remove(connection, webhook_id):
            raise _unknown(webhook_id)
    log.info("webhook.removed", webhook_id=str(webhook_id), by=caller.name)


@repeated_on_conflict
def test_webhook(services: Services, caller: Caller, webhook_id: UUID) -> Delivery:
    require(caller, Action.MANAGE)
    with services.engine.begin() as connection:
        _require_enabled(connection, webhook_id)
        return webhooks.add_delivery(connection, new_id(), webhook_id, TEST_EVENT, {"webhook_id": str(webhook_id)})


def list_deliveries(services: Services, caller: Caller, webhook_id: UUID) -> list[Delivery]:
    require(caller, Action.MANAGE)
    with services.engine.statements() as connection:
        _existing(connection, webhook_id)
        return webhooks.deliveries(connection, webhook_id, MOST_SHOWN)


@repeated_on_conflict
def replay_delivery(services: Services, caller: Caller, webhook_id: UUID, delivery_id: UUID) -> Delivery:
    require(caller, Action.MANAGE)
    with services.engine.begin() as connection:
        _require_enabled(connection, webhook_id)
        again = webhooks.replay(connection, webhook_id, delivery_id)
    return or_raise(again, NotFound(f"The webhook {webhook_id} has no delivery {delivery_id}"))


def _check_url(url: str, may_be_private: bool) -> None:
    checked_text("url", url, MAX_URL_BYTES)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InvalidInput("url", "the host or the port cannot be read") from None
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or not url.isprintable():
        raise InvalidInput("url", "must be an address such as https://example.org/hooks")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("url", "must have no user and no password: deliveries are signed")
    try:
        address = str(ipaddress.ip_address(host))
    except ValueError:
        if _ENDS_IN_A_NUMBER.search(host):
            raise InvalidInput("url", "an IPv4 address has four decimal numbers") from None
        # A name: resolved and checked at every delivery.
        return
    problem = None if may_be_private else why_refused(address)
    if problem:
        raise InvalidInput("url", problem)


def _existing(connection: Connection, webhook_id: UUID) -> Webhook:
    return or_raise(webhooks.get(connection, webhook_id), _unknown(webhook_id))


def _require_enabled(connection: Connection, webhook_id: UUID) -> None:
    webhook = _existing(connection, webhook_id)
    if webhook.disabled_at is not None:
        problem = f"is off ({webhook.disabled_reason}): remove it and register the address again"
        raise InvalidInput("webhook_id", problem)


def _unknown(webhook_id: UUID) -> NotFound:
    return NotFound(f"There is no webhook {webhook_id}")


# For workers


@repeated_on_conflict
def claim(services: Services, worker_id: str, room: Room) -> list[DueDelivery]:
    """One delivery of a debate after another. Each endpoint has its own share."""
    return webhooks.claim(services.engine, worker_id, room)


def record(services: Services, held: DueDelivery, status: int) -> None:
    error = None if 200 <= status < 300 else f"answered {status}"
    if status // 100 == 3:
        error = f"answered {status}: redirects are not followed"
    _record(services, held, status, error, jitter())


def record_failure(services: Services, held: DueDelivery, problem: PlayerError, jitter: float) -> None:
    _record(services, held, None, problem.message, jitter)


@repeated_on_conflict
def _record(services: Services, held: DueDelivery, status: int | None, error: str | None, jitter: float) -> None:
    delay = None
    if error is not None and status != GONE:
        first = services.settings.webhook_retry_seconds
        delay = delay_after(held.attempts + 1, held.age_seconds, first, jitter)
    if not webhooks.record_attempt(services.engine, held, status=status, error=error, delay=delay):
        log.info("webhook.dropped", webhook_id=str(held.webhook_id))
    if status == GONE:
        reason = "the endpoint answered 410: it is gone"
        webhooks.disable(services.engine, held.webhook_id, reason)
        log.warning("webhook.disabled", webhook_id=str(held.webhook_id), reason=reason)
    metrics.webhook_deliveries.labels("delivered" if error is None else "failed").inc()
    if error is not None:
        log.info("webhook.failed", webhook_id=str(held.webhook_id), attempts=held.attempts + 1, problem=error)
