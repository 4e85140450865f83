"""The pages of webhooks: the endpoints, and the newest deliveries of one. For operators: guests see neither."""

from datetime import UTC, datetime

from flask import Blueprint, render_template

from app.core.access import OPERATOR
from app.usecases import webhooks
from app.usecases.services import Services
from app.web import query


def add_webhook_pages(web: Blueprint, services: Services) -> None:
    @web.get("/webhooks/view")
    def webhooks_page() -> str:
        found = webhooks.list_webhooks(services, OPERATOR)
        return render_template("webhooks.html", webhooks=found, now=datetime.now(UTC))

    @web.get("/webhooks/<webhook_id>/view")
    def webhook_page(webhook_id: str) -> str:
        webhook = webhooks.get_webhook(services, OPERATOR, query.uuid_of(webhook_id, "webhook"))
        sent = webhooks.list_deliveries(services, OPERATOR, webhook.id)
        return render_template(
            "webhook.html", webhook=webhook, deliveries=sent, most=webhooks.MOST_SHOWN, now=datetime.now(UTC)
        )
