"""What models were sent for turns, and answered."""

from uuid import UUID

from harness import Place

from situations import rows


def age_exchanges(place: Place, turn_id: UUID, days: float) -> None:
    """Of one turn: they were stored earlier."""
    older = "created_at = created_at - make_interval(days => %s)"
    rows.change(place, "exchanges", older, days, turn_id, where="turn_id = %s")
