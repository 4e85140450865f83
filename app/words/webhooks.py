"""Deliveries of webhooks."""

_DELIVERIES = {"delivered": "Delivered", "pending": "Pending", "given_up": "Given up"}


def delivery(status: str) -> str:
    """A newer server may have statuses that this client does not know."""
    return _DELIVERIES.get(status, status)
