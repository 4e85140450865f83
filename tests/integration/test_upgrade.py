"""A database that two older versions have filled is upgraded, and an API and a worker go on with it.

test_migrations.py looks at each revision; tests/e2e/test_side_by_side.py upgrades while old processes run.
"""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from harness import Place, numbers
from old_rows import fill
from test_migrations import REVISIONS, assert_read_and_going_on, upgrade_to

from app.embedded import ServerUrls
from app.store.migrate import newest_revision, upgrade

BEFORE_LEASES = "0008"
"""Solutions, a search in titles, and claims that each had an end of their own."""
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


@pytest.fixture
def unmigrated(make_place: Callable[[], Place], servers: ServerUrls) -> Iterator[Place]:
    """With an empty database."""
    name = f"upgraded_{next(numbers)}"
    with psycopg.connect(servers.database_url.replace("/debate?", "/postgres?"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    other = make_place()
    made = Place(other.settings.with_changes(database_url=servers.database_url.replace("/debate?", f"/{name}?")))
    yield made
    made.end_programs()


def test_what_two_older_versions_left_is_served_and_ends_after_an_upgrade(unmigrated: Place) -> None:
    url = str(unmigrated.settings.database_url)
    fills = []
    for revision in (BEFORE_LEASES, REVISIONS[-2]):
        upgrade_to(url, revision)
        with psycopg.connect(url) as connection:
            fills.append(fill(connection, {table for (table,) in connection.execute(TABLES)}))
    assert upgrade(url) == (REVISIONS[-2], newest_revision())
    assert_read_and_going_on(unmigrated, unmigrated.start_api(), fills)
