"""With a hundred thousand debates, what the dashboard asks reads no more than with a hundred: the plans say so."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from harness import services_of
from situations import listings
from sqlalchemy import event

from app.core.debate import State, Status
from app.store import listing
from app.store.listing import Filters
from app.usecases import dashboard, system
from app.usecases.read import get_debates

pytestmark = pytest.mark.long

MANY = 100_000


@pytest.fixture(scope="module")
def many(module_place):
    listings.fill_as_in_operation(module_place, MANY)
    module_place.sql("VACUUM ANALYZE")
    with services_of(module_place.settings) as built:
        yield built


@contextmanager
def statements(services) -> Iterator[list[tuple[str, object]]]:
    """What is asked of the database meanwhile, with its parameters."""
    heard: list[tuple[str, object]] = []

    def hear(_connection, _cursor, statement, parameters, *_rest):
        heard.append((statement, parameters))

    event.listen(services.engine.sqlalchemy, "before_cursor_execute", hear)
    try:
        yield heard
    finally:
        event.remove(services.engine.sqlalchemy, "before_cursor_execute", hear)


def scans(plan):
    if "Scan" in plan["Node Type"] and "Relation Name" in plan:
        yield plan
    for below in plan.get("Plans", []):
        yield from scans(below)


def rows_read(scan):
    return (scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)) * scan["Actual Loops"]


def largest_read(services, ask):
    """Asks, and then has Postgres explain each of the questions; the most rows that one scan of a table read."""
    with statements(services) as heard:
        answer = ask()
    read = [0]
    with psycopg.connect(services.settings.database_url) as connection:
        for statement, parameters in heard:
            if statement.startswith("EXPLAIN"):
                continue
            explained = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).fetchone()
            for scan in scans(explained[0][0]["Plan"]):
                read.append(rows_read(scan))
    return answer, max(read)


@pytest.mark.parametrize("oldest_first", [False, True], ids=["latest", "oldest"])
@pytest.mark.parametrize(
    "filters",
    [
        Filters(),
        Filters(status=(Status.RUNNING,)),
        Filters(status=(Status.STOPPED,)),
        Filters(state=(State.CLOSED,)),
        Filters(q="Debate"),
    ],
    ids=["all", "running", "none", "closed", "searched"],
)
def test_a_page_of_the_list_reads_no_more_than_a_few_pages(many, filters, oldest_first):
    page, read = largest_read(many, lambda: dashboard.list_page(many, filters, 50, None, oldest_first))
    assert len(page.debates) == (0 if Status.STOPPED in filters.status else 50)
    # A search passes over a few of another status on its way.
    assert read <= 2 * dashboard.EXACT_COUNT


@pytest.mark.parametrize("oldest_first", [False, True], ids=["latest", "oldest"])
def test_a_page_far_down_the_list_is_entered_at_its_place(many, module_place, oldest_first):
    ids = [row[0] for row in module_place.sql("SELECT id FROM debates ORDER BY updated_at DESC, id")]
    order = ids[::-1] if oldest_first else ids
    before = get_debates(many, [order[60_000]])[0]
    page, read = largest_read(
        many, lambda: dashboard.list_page(many, Filters(), 50, listing.cursor_of(before), oldest_first)
    )
    assert [watched.debate.id for watched in page.debates] == order[60_001:60_051]
    assert read <= dashboard.EXACT_COUNT + 1


def test_chips_count_exactly_up_to_their_limit(many):
    counts = dashboard.list_page(many, Filters(), 1, None).counts
    assert counts["running"] == counts["completed"] == dashboard.EXACT_COUNT + 1
    assert counts["failed"] == sum(number % 97 == 1 and number % 10 != 0 for number in range(1, MANY + 1))
    assert counts["paused"] == 0


def test_the_state_of_the_system_reads_little(many):
    status, read = largest_read(many, lambda: system.system_status(many))
    assert read <= system.COUNTED + 1
    assert status.work.waiting == MANY // 10 - MANY // 1000
    assert status.work.oldest_waiting_at is not None
    assert status.work.turns_last_minute == MANY // 1000
