"""Sessions of browsers whose time is over."""

from harness import Place

from situations import rows


def expire_all(place: Place) -> None:
    rows.change(place, "sessions", "expires_at = now() - interval '1 second'")
