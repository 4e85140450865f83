"""What workers share of providers: slots, slower times, the money of a day."""

from harness import Place

from situations import rows


def expire_slots(place: Place, worker_id: str) -> None:
    """The worker was not heard of for too long."""
    expired = "expires_at = clock_timestamp() - interval '1 second'"
    rows.change(place, "provider_slots", expired, worker_id, where="worker_id = %s")


def age_slow_down(place: Place, seconds: float) -> None:
    """Every provider asked so long ago for fewer calls."""
    rows.change(place, "providers", "lowered_at = now() - make_interval(secs => %s)", seconds)


def end_day(place: Place) -> None:
    """What was spent was spent yesterday."""
    rows.change(place, "daily_costs", "day = day - 1")
