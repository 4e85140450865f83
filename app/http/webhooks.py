"""Webhooks, for the operator: endpoints, the events that each receives, and deliveries with their results."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from app.core.access import Action
from app.core.webhooks import WebhookEvent
from app.http.access import current_caller
from app.http.answers import DeletedAnswer, answer_of
from app.http.blueprint import Blueprint, api_blueprint
from app.http.requests import Request, with_examples
from app.usecases import webhooks
from app.usecases.services import Services
from app.wire.debates import Moment
from app.wire.shape import From, Made, Shape


class WebhookBody(Request):
    model_config = with_examples({"url": "https://example.org/hooks", "events": ["debate.completed", "debate.failed"]})

    url: str
    events: list[WebhookEvent] = Field(min_length=1)
    description: str | None = None


class WebhookShape(Shape):
    id: UUID
    url: str
    events: list[str]
    description: str | None
    is_enabled: Annotated[bool, Made(lambda webhook: webhook.disabled_at is None)]
    disabled_reason: str | None
    created_at: Moment


class NewWebhookShape(WebhookShape):
    secret: str = Field(description="Verifies the signatures; shown only in this response")


class DeliveryShape(Shape):
    id: UUID
    event: str
    debate_id: UUID | None
    status: str = Field(description="delivered, pending or given_up")
    attempts: int
    last_status: int | None
    last_error: str | None
    created_at: Moment
    delivered_at: Moment | None
    next_attempt_at: Annotated[Moment | None, From("due_at")]
    data: dict[str, Any]


WebhookAnswer = answer_of("Webhook", webhook=NewWebhookShape)
WebhooksAnswer = answer_of("Webhooks", webhooks=list[WebhookShape])
DeliveryAnswer = answer_of("Delivery", delivery=DeliveryShape)
DeliveriesAnswer = answer_of("Deliveries", deliveries=list[DeliveryShape])


def webhooks_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("webhooks", "Signed HTTP callbacks about debates")

    @api.view("POST /webhooks", WebhookAnswer, 201, takes=Action.MANAGE)
    def add(body: WebhookBody) -> dict[str, Any]:
        """Register an endpoint; the response shows its secret once"""
        made = webhooks.add_webhook(services, current_caller(), body.url, body.events, body.description)
        return {"webhook": made}

    @api.view("GET /webhooks", WebhooksAnswer)
    def list_all() -> dict[str, Any]:
        """List endpoints"""
        return {"webhooks": webhooks.list_webhooks(services, current_caller())}

    @api.view("DELETE /webhooks/<webhook_id>", DeletedAnswer)
    def remove(webhook_id: UUID) -> dict[str, Any]:
        """Remove an endpoint"""
        webhooks.remove_webhook(services, current_caller(), webhook_id)
        return {"deleted": True}

    @api.view("POST /webhooks/<webhook_id>/test", DeliveryAnswer, 201)
    def test(webhook_id: UUID) -> dict[str, Any]:
        """Send a test message"""
        return {"delivery": webhooks.test_webhook(services, current_caller(), webhook_id)}

    @api.view("GET /webhooks/<webhook_id>/deliveries", DeliveriesAnswer)
    def deliveries(webhook_id: UUID) -> dict[str, Any]:
        """List the newest deliveries"""
        return {"deliveries": webhooks.list_deliveries(services, current_caller(), webhook_id)}

    @api.view("POST /webhooks/<webhook_id>/deliveries/<delivery_id>/replay", DeliveryAnswer)
    def replay(webhook_id: UUID, delivery_id: UUID) -> dict[str, Any]:
        """Send a delivery again"""
        return {"delivery": webhooks.replay_delivery(services, current_caller(), webhook_id, delivery_id)}

    return api
