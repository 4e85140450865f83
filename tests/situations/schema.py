"""The schema in situations: upgraded by a version that is newer than this one."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness import Place

from situations import rows


@contextmanager
def newer(place: Place) -> Iterator[str]:
    """As after a rollback; the revision."""
    [(revision,)] = place.sql("SELECT version_num FROM alembic_version")
    rows.change(place, "alembic_version", "version_num = '9999'")
    try:
        yield "9999"
    finally:
        rows.change(place, "alembic_version", "version_num = %s", revision)
