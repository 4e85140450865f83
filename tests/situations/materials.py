"""Documents that no creation in flight can still need, and documents without a debate."""

from harness import Place

from situations import rows


def age(place: Place, seconds: float = 7_200) -> None:
    """The last creation that stored a document was longer ago."""
    rows.change(place, "materials", "used_at = used_at - make_interval(secs => %s)", seconds)


def abandon(place: Place, kept_debates: list[object]) -> None:
    """Only these debates are left. The documents of the others stay."""
    place.sql("DELETE FROM debates WHERE NOT id = ANY(%s)", kept_debates)
