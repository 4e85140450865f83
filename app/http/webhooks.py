"""Webhooks, for the operator: endpoints, the events that each receives, and the deliveries with their results."""

from typing import Any
from uuid import UUID

from flask import Response
from flask_openapi3 import Tag
from pydantic import BaseModel, Field

from app.core.webhooks import WebhookEvent
from app.http.access import current_caller
from app.http.answers import ERRORS, NEEDS_TOKEN, DeletedAnswer, Shape, answer_of, success
from app.http.blueprint import Blueprint
from app.http.requests import Request, with_examples
from app.store.webhooks import Delivery, Webhook
from app.usecases import webhooks
from app.usecases.services import Services
from app.wire.debates import time_json

_TAG = Tag(name="webhooks", description="Signed messages about debates to an address of yours")


class WebhookBody(Request):
    model_config = with_examples({"url": "https://example.org/hooks", "events": ["debate.completed", "debate.failed"]})

    url: str
    events: list[WebhookEvent] = Field(min_length=1)
    description: str | None = None


class WebhookPath(BaseModel):
    webhook_id: UUID


class DeliveryPath(WebhookPath):
    delivery_id: UUID


class WebhookShape(Shape):
    id: UUID
    url: str
    events: list[str]
    description: str | None
    is_enabled: bool
    disabled_reason: str | None
    created_at: str


class NewWebhookShape(WebhookShape):
    secret: str = Field(description="Verifies the signatures; shown only in this answer")


class DeliveryShape(Shape):
    id: UUID
    event: str
    debate_id: UUID | None
    status: str = Field(description="delivered, pending or given_up")
    attempts: int
    last_status: int | None
    last_error: str | None
    created_at: str
    delivered_at: str | None
    next_attempt_at: str | None
    data: dict[str, Any]


WebhookAnswer = answer_of("Webhook", webhook=NewWebhookShape)
WebhooksAnswer = answer_of("Webhooks", webhooks=list[WebhookShape])
DeliveryAnswer = answer_of("Delivery", delivery=DeliveryShape)
DeliveriesAnswer = answer_of("Deliveries", deliveries=list[DeliveryShape])


def webhook_json(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": str(webhook.id),
        "url": webhook.url,
        "events": list(webhook.events),
        "description": webhook.description,
        "is_enabled": webhook.disabled_at is None,
        "disabled_reason": webhook.disabled_reason,
        "created_at": time_json(webhook.created_at),
    }


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": str(delivery.id),
        "event": delivery.event,
        "debate_id": str(delivery.debate_id) if delivery.debate_id else None,
        "status": delivery.status,
        "attempts": delivery.attempts,
        "last_status": delivery.last_status,
        "last_error": delivery.last_error,
        "created_at": time_json(delivery.created_at),
        "delivered_at": time_json(delivery.delivered_at),
        "next_attempt_at": time_json(delivery.due_at),
        "data": delivery.data,
    }


def webhooks_blueprint(services: Services) -> Blueprint:
    api = Blueprint("webhooks", __name__, abp_tags=[_TAG], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)

    @api.post("/webhooks", summary="Register an endpoint; its secret is shown once", responses={201: WebhookAnswer})
    def add(body: WebhookBody) -> tuple[Response, int]:
        made = webhooks.add_webhook(services, current_caller(), body.url, body.events, body.description)
        return success({"webhook": {**webhook_json(made), "secret": made.secret}}, 201)

    @api.get("/webhooks", summary="All endpoints", responses={200: WebhooksAnswer})
    def list_all() -> tuple[Response, int]:
        return success({"webhooks": [webhook_json(one) for one in webhooks.list_webhooks(services, current_caller())]})

    @api.delete("/webhooks/<webhook_id>", summary="Remove an endpoint", responses={200: DeletedAnswer})
    def remove(path: WebhookPath) -> tuple[Response, int]:
        webhooks.remove_webhook(services, current_caller(), path.webhook_id)
        return success({"deleted": True})

    @api.post("/webhooks/<webhook_id>/test", summary="Send a test message", responses={201: DeliveryAnswer})
    def test(path: WebhookPath) -> tuple[Response, int]:
        sent = webhooks.test_webhook(services, current_caller(), path.webhook_id)
        return success({"delivery": delivery_json(sent)}, 201)

    @api.get("/webhooks/<webhook_id>/deliveries", summary="The newest deliveries", responses={200: DeliveriesAnswer})
    def deliveries(path: WebhookPath) -> tuple[Response, int]:
        found = webhooks.list_deliveries(services, current_caller(), path.webhook_id)
        return success({"deliveries": [delivery_json(one) for one in found]})

    @api.post(
        "/webhooks/<webhook_id>/deliveries/<delivery_id>/replay",
        summary="Send a delivery again",
        responses={200: DeliveryAnswer},
    )
    def replay(path: DeliveryPath) -> tuple[Response, int]:
        again = webhooks.replay_delivery(services, current_caller(), path.webhook_id, path.delivery_id)
        return success({"delivery": delivery_json(again)})

    return api
