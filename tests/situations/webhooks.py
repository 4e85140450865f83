"""Webhooks and their deliveries in situations: published by hand, old, due, failed, disabled, many."""

import json

from harness import Place

from situations import rows

EVENT = "seat.waiting"


def publish(place: Place, debate_id: object, number: int) -> None:
    """To the outbox, as a trigger does, in a transaction of its own."""
    data = json.dumps({"of": str(debate_id), "n": number})
    place.sql("SELECT tell_webhooks(%s, %s, %s)", EVENT, debate_id, data)


def make_due(place: Place) -> None:
    """All deliveries: the claim of a worker that has not reported is over."""
    rows.change(place, "webhook_deliveries", "due_at = clock_timestamp()")


def age(place: Place, seconds: float, number: int | None = None) -> None:
    """The deliveries, or those that were published with this number, are older."""
    older = "created_at = created_at - make_interval(secs => %s)"
    if number is None:
        rows.change(place, "webhook_deliveries", older, seconds)
    else:
        rows.change(place, "webhook_deliveries", older, seconds, str(number), where="data ->> 'n' = %s")


def fail(place: Place, attempts: int, status: int) -> None:
    """Each delivery was tried that often, and the endpoint answered so."""
    failed = "attempts = %s, last_status = %s, last_error = %s"
    rows.change(place, "webhook_deliveries", failed, attempts, status, f"answered {status}")


def give_up(place: Place) -> None:
    rows.change(place, "webhook_deliveries", "due_at = NULL")


def disable(place: Place, reason: str) -> None:
    rows.change(place, "webhooks", "disabled_at = now(), disabled_reason = %s", reason)


def fill_delivered(place: Place, deliveries: int) -> None:
    """Of one webhook, each of a debate of its own."""
    place.sql("INSERT INTO webhooks (id, url, events, secret) VALUES (gen_random_uuid(), 'http://x', '{}', 's')")
    place.sql(
        "INSERT INTO webhook_deliveries (id, webhook_id, debate_id, event, data, delivered_at)"
        " SELECT gen_random_uuid(), (SELECT id FROM webhooks), gen_random_uuid(), 'e', '{}', now()"
        " FROM generate_series(1, %s)",
        deliveries,
    )
