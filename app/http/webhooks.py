"""Webhooks, for the operator: endpoints, the events that each receives, and the deliveries with their results."""

from typing import Annotated, Any
from uuid import UUID

from flask import Response
from pydantic import BaseModel, Field

from app.core.webhooks import WebhookEvent
from app.http.access import current_caller
from app.http.answers import DeletedAnswer, answer_of, success
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


class WebhookPath(BaseModel):
    webhook_id: UUID


class DeliveryPath(WebhookPath):
    delivery_id: UUID


class WebhookShape(Shape):
    id: UUID
    url: str
    events: list[str]
    description: str | None
    is_enabled: Annotated[bool, Made(lambda webhook: webhook.disabled_at is None)]
    disabled_reason: str | None
    created_at: Moment


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
    created_at: Moment
    delivered_at: Moment | None
    next_attempt_at: Annotated[Moment | None, From("due_at")]
    data: dict[str, Any]


WebhookAnswer = answer_of("Webhook", webhook=NewWebhookShape)
WebhooksAnswer = answer_of("Webhooks", webhooks=list[WebhookShape])
DeliveryAnswer = answer_of("Delivery", delivery=DeliveryShape)
DeliveriesAnswer = answer_of("Deliveries", deliveries=list[DeliveryShape])


def webhooks_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("webhooks", "Signed messages about debates to an address of yours")

    @api.post("/webhooks", summary="Register an endpoint; its secret is shown once", responses={201: WebhookAnswer})
    def add(body: WebhookBody) -> tuple[Response, int]:
        made = webhooks.add_webhook(services, current_caller(), body.url, body.events, body.description)
        return success({"webhook": NewWebhookShape.of(made)}, 201)

    @api.get("/webhooks", summary="All endpoints", responses={200: WebhooksAnswer})
    def list_all() -> tuple[Response, int]:
        return success(
            {"webhooks": [WebhookShape.of(one) for one in webhooks.list_webhooks(services, current_caller())]}
        )

    @api.delete("/webhooks/<webhook_id>", summary="Remove an endpoint", responses={200: DeletedAnswer})
    def remove(path: WebhookPath) -> tuple[Response, int]:
        webhooks.remove_webhook(services, current_caller(), path.webhook_id)
        return success({"deleted": True})

    @api.post("/webhooks/<webhook_id>/test", summary="Send a test message", responses={201: DeliveryAnswer})
    def test(path: WebhookPath) -> tuple[Response, int]:
        sent = webhooks.test_webhook(services, current_caller(), path.webhook_id)
        return success({"delivery": DeliveryShape.of(sent)}, 201)

    @api.get("/webhooks/<webhook_id>/deliveries", summary="The newest deliveries", responses={200: DeliveriesAnswer})
    def deliveries(path: WebhookPath) -> tuple[Response, int]:
        found = webhooks.list_deliveries(services, current_caller(), path.webhook_id)
        return success({"deliveries": [DeliveryShape.of(one) for one in found]})

    @api.post(
        "/webhooks/<webhook_id>/deliveries/<delivery_id>/replay",
        summary="Send a delivery again",
        responses={200: DeliveryAnswer},
    )
    def replay(path: DeliveryPath) -> tuple[Response, int]:
        again = webhooks.replay_delivery(services, current_caller(), path.webhook_id, path.delivery_id)
        return success({"delivery": DeliveryShape.of(again)})

    return api
