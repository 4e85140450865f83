"""Webhooks: endpoints and deliveries. They need the operator's token."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from debate_client.answers import Answer
from debate_client.errors import Json
from debate_client.requests import Request, deleted, given


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook(Answer):
    id: str
    url: str
    events: tuple[str, ...]
    description: str | None = None
    is_enabled: bool = True
    disabled_reason: str | None = None
    created_at: str = ""
    secret: str | None = field(default=None, repr=False)
    """Verifies the signatures. Only the response that created the webhook has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery(Answer):
    id: str
    event: str
    debate_id: str | None = None
    status: str
    """`delivered`, `pending` or `given_up`."""
    attempts: int = 0
    last_status: int | None = None
    last_error: str | None = None
    created_at: str = ""
    delivered_at: str | None = None
    next_attempt_at: str | None = None
    data: Json = field(default_factory=dict)


def create(url: str, events: Iterable[str], description: str | None = None) -> Request[Webhook]:
    """Registers an endpoint. Not repeatable: its secret is shown once."""
    body = given({"url": url, "events": list(events), "description": description})
    return Request("POST", "/webhooks", lambda data: Webhook.of(data["webhook"]), body=body)


def listed() -> Request[tuple[Webhook, ...]]:
    return Request("GET", "/webhooks", lambda data: tuple(map(Webhook.of, data["webhooks"])), is_repeatable=True)


def delete(webhook_id: str) -> Request[bool]:
    return Request("DELETE", f"/webhooks/{webhook_id}", deleted)


def test(webhook_id: str) -> Request[Delivery]:
    """Sends a test message."""
    return Request("POST", f"/webhooks/{webhook_id}/test", _delivery, body={})


def deliveries(webhook_id: str) -> Request[tuple[Delivery, ...]]:
    """The newest deliveries, newest first."""
    return Request(
        "GET",
        f"/webhooks/{webhook_id}/deliveries",
        lambda data: tuple(map(Delivery.of, data["deliveries"])),
        is_repeatable=True,
    )


def replay(webhook_id: str, delivery_id: str) -> Request[Delivery]:
    """Delivers again, with the same `webhook-id`."""
    path = f"/webhooks/{webhook_id}/deliveries/{delivery_id}/replay"
    return Request("POST", path, _delivery, body={}, is_repeatable=True)


def _delivery(data: Json) -> Delivery:
    return Delivery.of(data["delivery"])
