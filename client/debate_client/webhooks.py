"""Webhooks: the endpoints that a server tells of events, and the deliveries. For the operator's token."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from debate_client.errors import Json
from debate_client.requests import Request, deleted, given


@dataclass(frozen=True, slots=True)
class Webhook:
    id: str
    url: str
    events: tuple[str, ...]
    description: str | None
    is_enabled: bool
    disabled_reason: str | None
    created_at: str
    secret: str | None = field(repr=False)
    """Verifies the signatures. Only the answer that made the webhook has it."""
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> "Webhook":
        return cls(
            raw["id"],
            raw["url"],
            tuple(raw["events"]),
            raw.get("description"),
            raw.get("is_enabled", True),
            raw.get("disabled_reason"),
            raw.get("created_at", ""),
            raw.get("secret"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    id: str
    event: str
    debate_id: str | None
    status: str
    """`delivered`, `pending` or `given_up`."""
    attempts: int
    last_status: int | None
    last_error: str | None
    created_at: str
    delivered_at: str | None
    next_attempt_at: str | None
    data: Json
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> "Delivery":
        return cls(
            raw["id"],
            raw["event"],
            raw.get("debate_id"),
            raw["status"],
            raw.get("attempts", 0),
            raw.get("last_status"),
            raw.get("last_error"),
            raw.get("created_at", ""),
            raw.get("delivered_at"),
            raw.get("next_attempt_at"),
            dict(raw.get("data") or {}),
            raw,
        )


def create(url: str, events: Iterable[str], description: str | None = None) -> Request[Webhook]:
    """Registers an endpoint. Not repeatable: its secret is shown once."""
    body = given({"url": url, "events": list(events), "description": description})
    return Request("POST", "/webhooks", lambda data: Webhook.of(data["webhook"]), body=body)


def listed() -> Request[tuple[Webhook, ...]]:
    return Request("GET", "/webhooks", lambda data: tuple(map(Webhook.of, data["webhooks"])), is_repeatable=True)


def delete(webhook_id: str) -> Request[bool]:
    return Request("DELETE", f"/webhooks/{webhook_id}", deleted)


def test(webhook_id: str) -> Request[Delivery]:
    """Sends a message to try the endpoint out."""
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
    """Delivers once more, under the same `webhook-id`."""
    path = f"/webhooks/{webhook_id}/deliveries/{delivery_id}/replay"
    return Request("POST", path, _delivery, body={}, is_repeatable=True)


def _delivery(data: Json) -> Delivery:
    return Delivery.of(data["delivery"])
