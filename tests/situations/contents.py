"""Turns of much text."""

from uuid import UUID

from harness import Place

from situations import rows


def enlarge(place: Place, debate_id: object, words: int) -> None:
    """Every turn of this debate says so many words."""
    rows.change(place, "turns", "content = repeat('words ', %s)", words, UUID(str(debate_id)), where="debate_id = %s")
