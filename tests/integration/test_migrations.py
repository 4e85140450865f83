"""Migrations: what revision 0034 makes of the rows before it, and that migrations after a release only add."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from harness import Api, Place, assert_all_is_well, numbers
from psycopg.rows import dict_row
from releases import last_release, unpack

from app.embedded import ServerUrls
from app.settings import Settings
from app.store.engine import make_migration_engine
from app.store.migrate import MIGRATIONS, SchemaTooOld, current_revision, newest_revision, upgrade

SCRIPTED = {role: {"player": "scripted"} for role in ("proposer", "opponent", "arbitrator")}
VERDICT = {"winner": "opponent", "scores": {"proposer": 4, "opponent": 8}, "reasoning": "Better", "stop": False}
USAGE = {"input_tokens": 1, "output_tokens": 2, "cost_usd": 0.5, "latency_ms": 3}
_DEBATE = """
INSERT INTO debates (id, title, debate_type, format, status, stop_reason, next_round, next_actor, seats, limits,
                     turn_count, verdict, verdict_scope, verdict_confidence, claim_token, claimed_by, due_at,
                     created_by, client_request_id)
VALUES (%(id)s, 'Old', 'general_debate', 'rounds', %(status)s, %(reason)s, 2, 'debater_a', %(seats)s,
        '{"max_rounds": 2}', 4, %(verdict)s, %(scope)s, %(confidence)s, %(token)s, %(worker)s,
        CASE WHEN %(status)s = 'running' THEN clock_timestamp() END, 'operator', %(id)s::text)
"""
_TURN = """
INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player, verdict, verdict_scope, verdict_confidence,
                   usage, context_shortened)
VALUES (gen_random_uuid(), %(debate_id)s, %(seq)s, %(round)s, %(actor)s, %(type)s, 'Said', 'scripted', %(verdict)s,
        %(scope)s, %(confidence)s, %(usage)s, %(shortened)s)
"""
_TURNS = (
    {"seq": 1, "round": 0, "actor": "debater_a", "type": "MOTION"},
    {"seq": 2, "round": 1, "actor": "debater_a", "type": "CLAIM"},
    {"seq": 3, "round": 1, "actor": "debater_b", "type": "CLAIM"},
)
_RULING = {"seq": 4, "round": 1, "actor": "judge", "type": "RULING"}


def empty(servers: ServerUrls) -> str:
    """A new database's address."""
    name = f"migrated_{next(numbers)}"
    with psycopg.connect(servers.database_url.replace("/debate?", "/postgres?"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return servers.database_url.replace("/debate?", f"/{name}?")


def upgrade_to(database_url: str, revision: str, migrations: Path = MIGRATIONS) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations))
    engine = make_migration_engine(database_url)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.commit()
    engine.dispose()


def put(connection: "psycopg.Connection[Any]", status: str, scope: str | None, confidence: float | None) -> UUID:
    """A debate of revision 0033, with one ruled round; a running one is claimed by a worker that is gone."""
    debate_id = uuid4()
    is_running = status == "running"
    judged = {"verdict": json.dumps(VERDICT), "scope": scope, "confidence": confidence}
    about = {
        "id": debate_id,
        "status": status,
        "reason": None if is_running else "ruling",
        "seats": json.dumps(SCRIPTED),
        "token": uuid4() if is_running else None,
        "worker": "gone" if is_running else None,
    }
    connection.execute(_DEBATE, {**about, **judged})
    not_judged = {"verdict": None, "scope": None, "confidence": None, "shortened": False}
    for turn in _TURNS:
        connection.execute(_TURN, {**turn, **not_judged, "debate_id": debate_id, "usage": None})
    ruled = {**_RULING, **judged, "shortened": not is_running, "usage": json.dumps(USAGE)}
    connection.execute(_TURN, {**ruled, "debate_id": debate_id})
    if is_running:
        connection.execute("INSERT INTO worker_leases VALUES ('gone', now(), now())")
    return debate_id


class Upgraded:
    """A database of revision 0033 that was upgraded, in a second attempt after a first one that was cut off."""

    def __init__(self, database_url: str) -> None:
        self.database_url = database_url
        upgrade_to(database_url, "0033")
        with psycopg.connect(database_url) as connection:
            self.decided = put(connection, "completed", "debate", 0.75)
            self.running = put(connection, "running", None, None)
            # What a first attempt leaves behind: some rows are converted, and the index is not whole.
            self.converted = put(connection, "completed", "debate", None)
            scoped = (json.dumps({**VERDICT, "scope": "debate"}), self.converted)
            connection.execute("UPDATE debates SET verdict = %s WHERE id = %s", scoped)
            connection.execute("UPDATE turns SET verdict = %s WHERE debate_id = %s AND seq = 4", scoped)
            invalid = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass"
            connection.execute(invalid, ["debates_by_winner"])
        assert upgrade(database_url) == ("0033", newest_revision())


@pytest.fixture(scope="module")
def upgraded(servers: ServerUrls) -> Upgraded:
    return Upgraded(empty(servers))


@pytest.fixture(scope="module")
def place(upgraded: Upgraded, make_place: Any) -> Iterator[Place]:
    made: Place = make_place()
    made.settings = Settings(
        database_url=upgraded.database_url, redis_url=made.settings.redis_url, claim_seconds=made.settings.claim_seconds
    )
    yield made
    made.end_programs()


@pytest.fixture(scope="module")
def api(place: Place) -> Api:
    return place.start_api()


def test_a_verdict_has_its_scope_and_its_confidence_and_a_usage_whether_the_context_was_shortened(
    upgraded: Upgraded, api: Api
) -> None:
    decided = api.transcript(str(upgraded.decided))
    [ruling] = decided["arguments"][2:]
    assert ruling["verdict"] == decided["debate"]["verdict"] == {**VERDICT, "scope": "debate", "confidence": 0.75}
    assert ruling["usage"] == {**USAGE, "context_shortened": True, "over_limit": False, "cached_tokens": 0}
    converted = api.transcript(str(upgraded.converted))
    assert converted["debate"]["verdict"] == {**VERDICT, "scope": "debate", "confidence": None}
    found = api.http.get("/debates", params={"winner": "opponent"}).json()["data"]["debates"]
    assert {debate["id"] for debate in found} == {str(upgraded.decided), str(upgraded.converted)}


def test_an_index_that_an_attempt_left_unfinished_is_whole(upgraded: Upgraded) -> None:
    with psycopg.connect(upgraded.database_url) as connection:
        assert connection.execute("SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid").fetchall() == []


def test_a_debate_that_a_worker_left_claimed_is_read_and_ends(upgraded: Upgraded, place: Place, api: Api) -> None:
    running = api.transcript(str(upgraded.running))
    assert running["debate"]["verdict"] is None, "a verdict without a scope judged its round"
    assert running["arguments"][-1]["verdict"] == {**VERDICT, "scope": "round", "confidence": None}
    place.start_worker()
    assert api.wait_closed(str(upgraded.running))["debate"]["status"] == "completed"
    assert_all_is_well(place)


def test_a_schema_from_before_the_oldest_revision_is_refused_and_stays_as_it_is(servers: ServerUrls) -> None:
    database_url = empty(servers)
    upgrade_to(database_url, "0033")
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0032'")
    with pytest.raises(SchemaTooOld, match="at revision 0032, and this version upgrades from 0033 on"):
        upgrade(database_url)
    assert current_revision(database_url) == "0032"


Columns = dict[tuple[str, str], dict[str, Any]]


def columns_of(database_url: str) -> Columns:
    with psycopg.connect(database_url, row_factory=dict_row) as connection:
        found = connection.execute(
            "SELECT table_name, column_name, udt_name, character_maximum_length, numeric_precision, is_nullable,"
            " column_default FROM information_schema.columns"
            " WHERE table_schema = 'public' AND table_name <> 'alembic_version'"
        ).fetchall()
    return {(row.pop("table_name"), row.pop("column_name")): row for row in found}


def test_migrations_since_the_last_release_only_add(servers: ServerUrls, tmp_path: Path) -> None:
    """Its processes run while a database is upgraded: what they name is there, and what they leave out is filled in."""
    unpack(last_release(), tmp_path)
    database_url = empty(servers)
    upgrade_to(database_url, "head", tmp_path / "migrations")
    old = columns_of(database_url)
    upgrade(database_url)
    new = columns_of(database_url)
    assert old.keys() - new.keys() == set(), "columns were dropped or renamed"
    for column, was in old.items():
        looser = {**was, "is_nullable": new[column]["is_nullable"]} if was["is_nullable"] == "NO" else was
        assert new[column] == looser, column
    tables = {table for table, _ in old}
    added = {column: about for column, about in new.items() if column not in old and column[0] in tables}
    needed = [column for column, about in added.items() if about["is_nullable"] == "NO" and not about["column_default"]]
    assert needed == [], "a new column of an old table must be written"
