"""Invitations whose time is over."""

from uuid import UUID

from harness import Place

from situations import rows


def expire(place: Place, debate_id: object) -> None:
    """Every invitation to this debate."""
    rows.change(place, "invitations", "expires_at = now()", UUID(str(debate_id)), where="debate_id = %s")
