"""Migrations only add, and lose nothing that an older version wrote.

One database goes from the first revision to the newest. At each it is filled as a version of that revision would have;
after each step what was there is still there, and what the version before wrote can still be written.
"""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from uuid import UUID

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from harness import Api, Place, assert_all_is_well, numbers, wait_until
from old_rows import DEBATES, fill

from app.embedded import ServerUrls
from app.settings import Settings
from app.store.engine import make_migration_engine
from app.store.migrate import _config

# Each debate of each fill goes on to its end.
pytestmark = pytest.mark.long
REVISIONS = [script.revision for script in reversed(list(ScriptDirectory.from_config(_config()).walk_revisions()))]
Rows = dict[str, list[dict[str, Any]]]
Columns = dict[tuple[str, str], dict[str, Any]]


def upgrade_to(database_url: str, revision: str) -> None:
    _run(command.upgrade, database_url, revision)


def downgrade_to(database_url: str, revision: str) -> None:
    _run(command.downgrade, database_url, revision)


def _run(step: Callable[[Config, str], None], database_url: str, revision: str) -> None:
    config = _config()
    engine = make_migration_engine(database_url)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        step(config, revision)
        connection.commit()
    engine.dispose()


@pytest.fixture(scope="module")
def empty(servers: ServerUrls) -> str:
    """A new database's address."""
    name = f"old_{next(numbers)}"
    with psycopg.connect(servers.database_url.replace("/debate?", "/postgres?"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return servers.database_url.replace("/debate?", f"/{name}?")


class Walk:
    """What was seen on the way through the revisions."""

    def __init__(self, database_url: str) -> None:
        self.database_url = database_url
        self.debates: list[dict[str, UUID]] = []
        self.columns: dict[str, Columns] = {}
        self.empty_tables: dict[str, set[str]] = {}
        self.lost: dict[str, list[str]] = {}
        for revision in REVISIONS:
            self._step(revision)

    def _step(self, revision: str) -> None:
        before = self._rows()
        upgrade_to(self.database_url, revision)
        self.lost[revision] = _lost(before, self._rows(), revision)
        with psycopg.connect(self.database_url) as connection:
            if before:
                # What the version before this revision writes.
                self.debates.append(fill(connection, set(before)))
            self.columns[revision] = _columns(connection)
            tables = {table for table, _ in self.columns[revision]}
            self.debates.append(fill(connection, tables))
        self.empty_tables[revision] = {table for table, rows in self._rows().items() if not rows}

    def _rows(self) -> Rows:
        with psycopg.connect(self.database_url, row_factory=psycopg.rows.dict_row) as connection:
            tables = {table for table, _ in _columns(connection)}
            return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in sorted(tables)}  # noqa: S608


def _columns(connection: "psycopg.Connection[Any]") -> Columns:
    found = connection.cursor(row_factory=psycopg.rows.dict_row).execute(
        "SELECT table_name, column_name, udt_name, character_maximum_length, numeric_precision, is_nullable,"
        " column_default FROM information_schema.columns"
        " WHERE table_schema = 'public' AND table_name <> 'alembic_version'"
    )
    return {(row.pop("table_name"), row.pop("column_name")): row for row in found}


def _lost(before: Rows, after: Rows, revision: str) -> list[str]:
    """Rows whose old columns no row of today has as they were."""
    lost = []
    for table, rows in before.items():
        names = [name for name in (rows[0] if rows else {}) if name != CHANGES.get(revision, {}).get(table)]
        kept = {repr([now.get(name) for name in names]) for now in after.get(table, [])}
        lost += [f"{table}: {row}" for row in rows if repr([row[name] for name in names]) not in kept]
    return lost


# Revision → table → a column that the revision changes on purpose; what it makes of it has a test of its own.
CHANGES = {"0010": {"debates": "verdict", "turns": "verdict"}}  # test_old_verdicts.py


@pytest.fixture(scope="module")
def walk(empty: str) -> Walk:
    return Walk(empty)


def test_there_are_rows_in_every_table_of_every_revision(walk: Walk) -> None:
    """Or these tests would say nothing about that table: give it rows in old_rows.py."""
    assert walk.empty_tables == {revision: set() for revision in REVISIONS}


STEPS = list(pairwise(REVISIONS))


@pytest.mark.parametrize(("before", "after"), STEPS)
def test_a_revision_loses_no_row_and_changes_none(walk: Walk, before: str, after: str) -> None:
    assert walk.lost[after] == []


@pytest.mark.parametrize(("before", "after"), STEPS)
def test_a_revision_keeps_every_column_as_it_was(walk: Walk, before: str, after: str) -> None:
    old, new = walk.columns[before], walk.columns[after]
    assert old.keys() - new.keys() == set(), "columns were dropped or renamed"
    for column, was in old.items():
        now = new[column]
        # What older code does not name must still be filled in, and what it leaves empty be allowed to be.
        looser = {**was, "is_nullable": now["is_nullable"]} if was["is_nullable"] == "NO" else was
        assert now == looser, column


@pytest.mark.parametrize(("before", "after"), STEPS)
def test_a_new_column_of_an_old_table_need_not_be_written(walk: Walk, before: str, after: str) -> None:
    old, new = walk.columns[before], walk.columns[after]
    tables = {table for table, _ in old}
    for table, column in new.keys() - old.keys():
        added = new[table, column]
        if table in tables:
            assert added["is_nullable"] == "YES" or added["column_default"] is not None, (table, column)


NOT_SEARCHED = """
    SELECT debates.title FROM debates LEFT JOIN debate_titles ON debate_titles.debate_id = debates.id
    WHERE debate_titles.title IS DISTINCT FROM lower(debates.title)
"""


def test_every_title_can_be_searched_whenever_and_by_whichever_version_it_was_written(walk: Walk) -> None:
    with psycopg.connect(walk.database_url) as connection:
        assert connection.execute(NOT_SEARCHED).fetchall() == []


def test_a_revision_that_was_cut_off_is_taken_up_again(walk: Walk) -> None:
    """As if it had ended half-way through the titles, and while it built its index beside running work."""
    downgrade_to(walk.database_url, "0005")
    with psycopg.connect(walk.database_url, autocommit=True) as connection:
        connection.execute("DELETE FROM debate_titles WHERE debate_id < '80000000-0000-0000-0000-000000000000'")
        connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'debates_by_standing'::regclass")
        connection.execute("UPDATE alembic_version SET version_num = '0004'")
        assert connection.execute(NOT_SEARCHED).fetchall() != []
        upgrade_to(walk.database_url, "head")
        assert connection.execute(NOT_SEARCHED).fetchall() == []
        assert connection.execute("SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid").fetchall() == []


def test_the_newest_revision_can_be_undone_and_done_again(walk: Walk) -> None:
    downgrade_to(walk.database_url, REVISIONS[-2])
    with psycopg.connect(walk.database_url) as connection:
        assert _columns(connection) == walk.columns[REVISIONS[-2]]
        walk.debates.append(fill(connection, {table for table, _ in walk.columns[REVISIONS[-2]]}))
    upgrade_to(walk.database_url, "head")
    with psycopg.connect(walk.database_url) as connection:
        assert _columns(connection) == walk.columns[REVISIONS[-1]]
        assert connection.execute(NOT_SEARCHED).fetchall() == []


def test_a_debate_that_was_to_wait_for_ten_thousand_years_is_due_now(walk: Walk) -> None:
    downgrade_to(walk.database_url, REVISIONS[REVISIONS.index("0008") - 1])
    poisoned = walk.debates[-1]["running"]
    with psycopg.connect(walk.database_url, autocommit=True) as connection:
        connection.execute(
            "UPDATE debates SET next_attempt_at = '12026-01-01', due_at = '12026-01-01' WHERE id = %s", [poisoned]
        )
        upgrade_to(walk.database_url, "head")
        looked_at = "SELECT next_attempt_at, due_at <= clock_timestamp() FROM debates WHERE id = %s"
        assert connection.execute(looked_at, [poisoned]).fetchall() == [(None, True)]


def test_options_beside_arms_that_had_no_effect_do_not_get_one(walk: Walk) -> None:
    downgrade_to(walk.database_url, REVISIONS[REVISIONS.index("0024") - 1])
    plain = '{"name": "x", "language": "German"}'
    with_arms = '{"name": "x", "language": "German", "prompts": "own", "arms": {"a": {"language": "French"}}}'
    with psycopg.connect(walk.database_url, autocommit=True) as connection:
        tables = {table for table, _ in _columns(connection)}
        walk.debates += [fill(connection, tables) for _ in range(2)]
        [(one,), (other,), *_] = connection.execute("SELECT id FROM experiments ORDER BY id").fetchall()
        before = dict(connection.execute("SELECT id, spec FROM experiments").fetchall())
        change = "UPDATE experiments SET spec = %s WHERE id = %s"
        connection.execute(change, [plain, one])
        connection.execute(change, [with_arms, other])
        upgrade_to(walk.database_url, "head")
        after = dict(connection.execute("SELECT id, spec FROM experiments").fetchall())
        assert after[one] == {"name": "x", "language": "German"}
        assert after[other] == {"name": "x", "arms": {"a": {"language": "French"}}}
        for experiment_id in (one, other):
            connection.execute(change, [json.dumps(before[experiment_id]), experiment_id])


@pytest.fixture(scope="module")
def place(walk: Walk, make_place: Any) -> Iterator[Place]:
    made = make_place()
    made.settings = Settings(
        database_url=walk.database_url, redis_url=made.settings.redis_url, claim_seconds=made.settings.claim_seconds
    )
    yield made
    made.end_programs()


def test_what_older_versions_wrote_is_read_and_goes_on(walk: Walk, place: Place) -> None:
    api = place.start_api()
    assert_read_and_going_on(place, api, walk.debates)
    assert api.http.get("/api/v1/solutions").json()["data"][0]["title"] == "Trams"


def assert_read_and_going_on(place: Place, api: Api, fills: list[dict[str, UUID]]) -> None:
    """The debates of each fill are served as they were left, and end."""
    for ids in fills:
        for debate in DEBATES:
            _is_as_it_was_left(api, debate.status, len(debate.turns), ids[debate.name])
    place.start_worker()
    for ids in fills:
        for name in ("paused", "failed", "held", "broken"):
            assert api.http.post(f"/debates/{ids[name]}/resume").status_code == 200
        answer = api.http.post(f"/debates/{ids['waiting']}/ruling", json={"content": "Too early", "close": True})
        assert answer.status_code == 403
        motion = api.transcript(str(ids["waiting"]))["motion"]["id"]
        resolution = {"target_id": motion, "content": "Agreed", "client_request_id": "a new one"}
        answer = api.http.post(f"/debates/{ids['waiting']}/resolution", json=resolution)
        assert answer.status_code == 201, answer.text
        for name in ("intervened", "appealed"):
            answer = api.http.post(f"/debates/{ids[name]}/ruling", json={"content": "Enough", "close": True})
            assert answer.status_code == 201, answer.text
        answer = api.http.post(f"/debates/{ids['interrupted']}/ruling", json={"content": "Go on"})
        assert answer.status_code == 201, answer.text
        assert (answer.json()["data"]["debate"]["state"], answer.json()["data"]["argument"]["round"]) == (
            "AWAITING_OPPONENT",
            None,
        )
        for name in ("invited", "held", "broken"):
            assert api.http.post(f"/debates/{ids[name]}/stop").status_code == 200
    everything = "SELECT count(*) FROM debates WHERE status NOT IN ('completed', 'stopped')"
    wait_until(lambda: place.sql(everything) == [(0,)], 100, "every debate has ended")
    assert_all_is_well(place)


def _is_as_it_was_left(api: Api, status: str, turns: int, debate_id: UUID) -> None:
    transcript = api.transcript(str(debate_id))
    assert (transcript["debate"]["status"], transcript["debate"]["argument_count"]) == (status, turns)
    said = [transcript["motion"], *transcript["arguments"]]
    assert [turn["content"] for turn in said] == [f"Said as number {seq}: “ünïcode” 🙂" for seq in range(1, turns + 1)]


def test_judgments_of_strangers_no_longer_count_in_an_experiment(walk: Walk) -> None:
    downgrade_to(walk.database_url, REVISIONS[REVISIONS.index("0030") - 1])
    spec = '{"name": "x", "judges": [{"name": " known ", "player": "scripted"}, {"player": "local"}]}'
    judges = {"known": True, "local": True, "person:eva": True, "agent:eve": False, "another": False}
    with psycopg.connect(walk.database_url, autocommit=True) as connection:
        tables = {table for table, _ in _columns(connection)}
        debate_id = fill(connection, tables)["completed"]
        [(experiment_id,)] = connection.execute("SELECT experiment_id FROM matches WHERE debate_id = %s", [debate_id])
        connection.execute("UPDATE experiments SET spec = %s WHERE id = %s", [spec, experiment_id])
        for judge in judges:
            connection.execute(
                'INSERT INTO judgments (id, debate_id, judge, "order", setup, status, experiment_id)'
                " VALUES (gen_random_uuid(), %s, %s, 'as_spoken', '{}', 'planned', %s)",
                [debate_id, judge, experiment_id],
            )
        upgrade_to(walk.database_url, "head")
        found = connection.execute(
            "SELECT judge, experiment_id IS NOT NULL, due_at IS NULL FROM judgments"
            " WHERE debate_id = %s AND judge = ANY(%s)",
            [debate_id, list(judges)],
        ).fetchall()
        assert sorted(found) == sorted((judge, counts, counts) for judge, counts in judges.items())
