"""Claims, commits, lists and searches among 20,000 debates, with statistics or with plans from before there were any.

Other tests run on nearly empty tables without autovacuum. Each of these checks which rows come, and how many rows
Postgres read for them.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from claimed_debates import WORKER, a_debate, claimed, ensure_lease, release, take_turn
from databases import ApiReads, report_reads_of_the_test, rows_read
from harness import Api, Place
from situations import databases, debates, leases
from test_api_envelope import data_of

from app.bootstrap import close_services
from app.core.brief import Thought
from app.core.claims import Room
from app.core.debate import TurnType
from app.embedded import EmbeddedServers
from app.settings import Settings
from app.store.listing import EXACT_TOTAL
from app.store.migrate import upgrade
from app.usecases import advance
from app.usecases.services import Services
from app.usecases.sweep import sweep
from worker.process import worker_services

DEBATES = 20_000
BACKLOG = 2_000
"""More of them, due for a worker."""
RUNS_TO_KEEP_A_PLAN = 12
"""psycopg prepares a statement at its sixth run; Postgres keeps the plan of the sixth run after that."""
CLAIM = Thought(TurnType.CLAIM, "words")
PAGE = 50
FEW = 200
"""Rows that a claim, a commit, a change or a short page reads, and those that are read to learn how many they were."""
COUNTED = EXACT_TOTAL + 1 + FEW
"""Rows that a page reads of all tables where its total is counted as far as it is exact."""
MANY = 15_000
"""Where what matches is counted in one table and read in another."""
LIST_TWICE = 2 * (DEBATES + BACKLOG) + 1_000
"""Without statistics Postgres takes a third of the list for new, or none for closed, and reads all of it."""
READ_BY_KEPT_PLANS = 7 * (DEBATES + BACKLOG)
"""Three times every turn, each debate having two. The API's connections keep plans of statements that name one debate,
and these read all until Postgres analyzes the tables; a worker's plan for tables of any size (app/store/engine.py)."""
TEXTS = 200
"""Turns whose text a request reads: to take one apart costs far more than to read a row."""
OPEN = "status IN ('created', 'running', 'paused', 'failed')"
TO_JOIN = "status IN ('created', 'running') AND next_actor = 'debater_b' AND next_round = 1"
PENDING = f"{TO_JOIN} AND seats -> 'opponent' ->> 'player' = 'external'"
SAID = "EXISTS (SELECT FROM turns WHERE debate_id = debates.id AND content ~* '\\m{}')"


@dataclass
class Stage:
    place: Place
    api: Api
    reads: ApiReads
    """Of the API."""
    services: Services
    """A worker's, with one connection in use."""


@dataclass(frozen=True)
class Listed:
    query: dict[str, str]
    condition: str
    """The same in SQL."""
    most_read: int
    most_read_without_statistics: int | None = None
    """If that is more."""


LISTS = {
    "first page": Listed({}, "true", COUNTED),
    "closed": Listed({"state": "CLOSED"}, "status IN ('completed', 'stopped')", COUNTED, LIST_TWICE),
    "paused": Listed({"status": "paused"}, "status = 'paused'", 500),
    "waiting for the opponent": Listed(
        {"state": "AWAITING_OPPONENT"}, f"{OPEN} AND next_actor = 'debater_b'", 1_000, LIST_TWICE
    ),
    "pending first opponent": Listed({"pending_first_opponent": "true"}, PENDING, 500),
    "nothing": Listed({"format": "direct"}, "format = 'direct'", FEW),
}
SEARCHES = {
    "a title": Listed({"q": "lighthouse, 100%"}, "title LIKE '%%lighthouse, 100\\%%%%'", FEW, 1_000),
    "some titles": Listed({"q": "harbour"}, "title LIKE '%%harbour%%'", 1_000, MANY),
    "many titles": Listed({"q": "trams"}, "title LIKE '%%trams%%'", MANY),
    "no title": Listed({"q": "zeppelin"}, "false", FEW),
    "a text": Listed({"q": "lantern", "texts": "true"}, SAID.format("lantern"), FEW, LIST_TWICE),
    "some texts": Listed({"q": "quay", "texts": "true"}, SAID.format("quay"), 1_000, LIST_TWICE),
    "many texts": Listed({"q": "council", "texts": "true"}, SAID.format("council"), MANY, LIST_TWICE),
    "no text": Listed({"q": "zeppelin", "texts": "true"}, "false", FEW, LIST_TWICE),
}


class ProductionConditions:
    """The tests. Each subclass says in which conditions they run."""

    has_statistics: bool

    @pytest.mark.parametrize("listed", [*LISTS.values(), *SEARCHES.values()], ids=[*LISTS, *SEARCHES])
    def test_a_page_is_right_and_reads_few_rows(self, stage: Stage, listed: Listed) -> None:
        matching = f"FROM debates WHERE {listed.condition}"
        expected = stage.place.sql(f"SELECT id {matching} ORDER BY updated_at DESC, id LIMIT {PAGE}")
        [(total,)] = stage.place.sql(f"SELECT count(*) {matching}")
        page, read = stage.reads.of(lambda: a_page(stage.api, **listed.query))
        assert [debate["id"] for debate in page["debates"]] == [str(debate_id) for (debate_id,) in expected]
        assert page["total"] == total or page["total_is_estimate"]
        without = None if self.has_statistics else listed.most_read_without_statistics
        assert sum(read.values()) <= (without or listed.most_read), read
        assert read["turns"] <= TEXTS, read

    def test_a_page_by_cursor_reads_no_page_before_it(self, stage: Stage) -> None:
        before, _ = stage.reads.of(lambda: a_page(stage.api, offset="9000"))
        following = "SELECT id FROM debates ORDER BY updated_at DESC, id OFFSET %s LIMIT %s"
        expected = stage.place.sql(following, 9_000 + PAGE, PAGE)
        page, read = stage.reads.of(lambda: a_page(stage.api, cursor=before["next_cursor"]))
        assert [debate["id"] for debate in page["debates"]] == [str(debate_id) for (debate_id,) in expected]
        assert sum(read.values()) <= COUNTED

    def test_a_debate_is_created_read_and_argued_in_by_a_bounded_number_of_rows(self, stage: Stage) -> None:
        most_read = FEW if self.has_statistics else READ_BY_KEPT_PLANS
        made, read = stage.reads.of(lambda: stage.api.create(format="dialogue"))
        assert max(read.values()) <= most_read, read
        transcript, read = stage.reads.of(lambda: stage.api.transcript(made["id"]))
        assert max(read.values()) <= most_read, read
        argued, read = stage.reads.of(lambda: argue(stage.api, transcript))
        assert max(read.values()) <= most_read, read
        assert argued["argument_count"] == 2

    def test_a_claim_and_a_commit_read_few_rows(self, stage: Stage) -> None:
        debate = a_debate(stage.services)
        claim, read = rows_read_by_worker(stage, lambda: claimed(stage.services, debate))
        assert max(read.values()) <= FEW
        following, read = rows_read_by_worker(stage, lambda: take_turn(stage.services, claim, CLAIM))
        assert max(read.values()) <= FEW
        assert following is not None
        assert stage.place.sql("SELECT content FROM turns WHERE debate_id = %s AND seq = 2", debate.id) == [("words",)]
        release(stage.services, following)

    def test_a_claim_reads_no_more_of_a_backlog_than_it_takes(self, stage: Stage) -> None:
        made = {a_debate(stage.services).id for _ in range(4)}
        for debate_id in made:
            debates.make_due(stage.place, debate_id, seconds_ago=3_600)
        ensure_lease(stage.services)
        claims, read = rows_read_by_worker(
            stage, lambda: advance.claim(stage.services, WORKER, [], Room({}, 64), len(made))
        )
        assert {claim.debate.id for claim in claims} == made
        assert max(read.values()) <= FEW
        for claim in claims:
            take_turn(stage.services, claim, CLAIM, go_on=False)

    def test_a_sweep_reads_what_is_due_and_nothing_else(self, stage: Stage) -> None:
        claim = claimed(stage.services, a_debate(stage.services), "dead worker")
        leases.expire(stage.place, "dead worker")
        released, read = rows_read_by_worker(stage, lambda: sweep(stage.services))
        assert released == 1
        assert max(read.values()) <= 3 * BACKLOG
        assert not stage.place.is_claimed(str(claim.debate.id))


class TestWithStatistics(ProductionConditions):
    """On a server of its own, as the product starts it: autovacuum has analyzed the tables."""

    has_statistics = True

    @pytest.fixture(scope="class")
    @classmethod
    def stage(cls) -> Iterator[Stage]:
        directory = Path(tempfile.mkdtemp(prefix="debate-tests-"))
        try:
            with EmbeddedServers(directory) as urls:
                upgrade(urls.database_url)
                place = Place(Settings(database_url=urls.database_url, redis_url=urls.redis_url, claim_seconds=3))
                databases.hurry_autovacuum(place)
                meet_many_debates(place)
                databases.wait_for_autovacuum(place)
                yield from staged(place)
        finally:
            shutil.rmtree(directory, ignore_errors=True)


class TestWithAStalePlan(ProductionConditions):
    """What connections have prepared, and what Postgres knows of the tables, is from when there were few debates."""

    has_statistics = False

    @pytest.fixture(scope="class")
    @classmethod
    def stage(cls, make_place: Callable[[], Place]) -> Iterator[Stage]:
        place = make_place()
        for stage in staged(place):
            for _ in range(RUNS_TO_KEEP_A_PLAN):
                do_everything_once(stage)
            place.sql("ANALYZE")
            do_everything_once(stage)
            meet_many_debates(place)
            rows_read(stage.services.engine)
            stage.reads.report()
            yield stage


def staged(place: Place) -> Iterator[Stage]:
    services = worker_services(place.settings)
    try:
        api = place.start_api()
        yield Stage(place, api, ApiReads(place, api), services)
    finally:
        close_services(services)
        place.end_programs()


def meet_many_debates(place: Place) -> None:
    debates.fill(place, BACKLOG, "created")
    databases.fill_with_a_year(place, DEBATES)


def do_everything_once(stage: Stage) -> None:
    """Everything that the tests do."""
    for listed in (*LISTS.values(), *SEARCHES.values()):
        a_page(stage.api, **listed.query)
    argue(stage.api, stage.api.transcript(stage.api.create(format="dialogue")["id"]))
    claim = claimed(stage.services, a_debate(stage.services), "dead worker")
    leases.expire(stage.place, "dead worker")
    sweep(stage.services)
    take_turn(stage.services, claimed(stage.services, claim.debate), CLAIM, go_on=False)


def a_page(api: Api, **query: str) -> dict[str, Any]:
    page: dict[str, Any] = data_of(api.http.get("/debates", params=query))
    return page


def argue(api: Api, transcript: dict[str, Any]) -> dict[str, Any]:
    """As the opponent of the motion; the debate afterwards."""
    debate_id, motion = transcript["debate"]["id"], transcript["motion"]["id"]
    body = {"role": "opponent", "target_id": motion, "content": "No.", "client_request_id": f"argue-{debate_id}"}
    debate: dict[str, Any] = data_of(api.http.post(f"/debates/{debate_id}/arguments", json=body), 201)["debate"]
    return debate


def rows_read_by_worker(stage: Stage, act: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    report_reads_of_the_test(stage.place)
    before = rows_read(stage.services.engine)
    done = act()
    after = rows_read(stage.services.engine)
    return done, {table: count - before[table] for table, count in after.items()}
