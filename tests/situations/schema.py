"""The schema in situations: made by a version that is newer or older than any that this one knows."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness import Place

from situations import rows


@contextmanager
def at(place: Place, other: str) -> Iterator[None]:
    """At another revision, by its number."""
    [(revision,)] = place.sql("SELECT version_num FROM alembic_version")
    rows.change(place, "alembic_version", "version_num = %s", other)
    try:
        yield
    finally:
        rows.change(place, "alembic_version", "version_num = %s", revision)
