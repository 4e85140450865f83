"""Deliveries of webhooks in situations: made, due and delivered long ago."""

from uuid import UUID, uuid4

from harness import Place

_DELIVERY = """
WITH hook AS (INSERT INTO webhooks (id, url, events, secret)
              VALUES (gen_random_uuid(), 'https://a.example', '{}', 'whsec_x') RETURNING id)
INSERT INTO webhook_deliveries (id, webhook_id, event, data, created_at, due_at, delivered_at)
SELECT %s, id, 'debate.completed', '{}', now() - %s::interval, now() - %s::interval, now() - %s::interval FROM hook
"""


def put_delivery(place: Place, made: str, due: str | None, delivered: str | None) -> UUID:
    """Of a webhook of its own. The times are intervals before now."""
    delivery_id = uuid4()
    place.sql(_DELIVERY, delivery_id, made, due, delivered)
    return delivery_id


def age(place: Place, interval: str) -> None:
    """All were made earlier."""
    place.sql("UPDATE webhook_deliveries SET created_at = created_at - %s::interval", interval)
