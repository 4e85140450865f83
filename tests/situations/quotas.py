"""Quotas of agents on the next day."""

from harness import Place

from situations import rows


def end_day(place: Place) -> None:
    """What the agents have stored and spent was yesterday."""
    rows.change(place, "agent_quotas", "day = day - 1")
