"""`debate doctor`, `debate db upgrade`, `debate repair`."""

import json

import psycopg
import pytest
from cli_home import Home, assert_one_sentence
from harness import Place, numbers
from situations import schema
from situations.debates import change, damage_cursor

from app.embedded import ServerUrls

NO_DATABASE = "postgresql://debate@127.0.0.1:9/debate"
NO_REDIS = "redis://127.0.0.1:9/0"


@pytest.fixture
def empty_database(servers: ServerUrls) -> dict[str, str]:
    """As settings."""
    name = f"empty_{next(numbers)}"
    with psycopg.connect(servers.database_url.replace("/debate?", "/postgres?"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = servers.database_url.replace("/debate?", f"/{name}?")
    return {"DEBATE_DATABASE_URL": url, "DEBATE_REDIS_URL": servers.redis_url}


def findings(text: str) -> dict[str, dict[str, object]]:
    return {finding["part"]: finding for finding in json.loads(text)}


def test_doctor_on_an_empty_data_directory_says_what_is_missing_and_makes_nothing(untouched: Home) -> None:
    seen = untouched.debate("doctor")
    assert seen.process.returncode == 1
    assert f"no database in {untouched.data_dir}" in seen.stdout
    assert "`debate up` or `debate run` creates one" in seen.stdout
    # No tick for what does not run, and no error: a server is not needed.
    assert f"- api       not running at http://127.0.0.1:{untouched.port}\n" in seen.stdout


@pytest.mark.parametrize(
    "arguments", [("prune", "--older-than", "90d"), ("prune", "--older-than", "1d", "--exchanges"), ("repair",)]
)
def test_a_command_for_a_database_that_is_not_there_makes_none(untouched: Home, arguments: tuple[str, ...]) -> None:
    words = f"There is no database in {untouched.data_dir}"
    assert_one_sentence(untouched.debate(*arguments), 1, words, "DEBATE_DATA_DIR")


def test_after_an_upgrade_of_the_embedded_database_doctor_is_content(home: Home) -> None:
    upgraded = home.debate("db", "upgrade")
    assert upgraded.process.returncode == 0, upgraded.stderr
    seen = home.debate("doctor", "--json")
    assert seen.process.returncode == 0, seen.stdout
    assert seen.stderr == ""
    found = findings(seen.stdout)
    assert set(found) == {"python", "servers", "database", "schema", "queue", "workers", "api"}
    assert all(finding["is_well"] for finding in found.values())
    home.wait_until_nothing_runs()


def test_doctor_says_which_configured_server_does_not_answer(home: Home, servers: ServerUrls) -> None:
    neither = home.debate("doctor", "--json", DEBATE_DATABASE_URL=NO_DATABASE, DEBATE_REDIS_URL=NO_REDIS)
    assert neither.process.returncode == 1
    found = findings(neither.stdout)
    assert not found["database"]["is_well"]
    assert "DEBATE_DATABASE_URL" in str(found["database"]["advice"])
    assert not found["queue"]["is_well"]
    assert "DEBATE_REDIS_URL" in str(found["queue"]["advice"])

    no_queue = home.debate("doctor", DEBATE_DATABASE_URL=servers.database_url, DEBATE_REDIS_URL=NO_REDIS)
    assert no_queue.process.returncode == 1
    assert "✓ database" in no_queue.stdout
    assert "✗ queue" in no_queue.stdout
    assert "Traceback" not in no_queue.stdout + no_queue.stderr


def test_doctor_says_that_no_worker_is_there(configured: Home) -> None:
    seen = configured.debate("doctor")
    assert seen.process.returncode == 1
    assert "✗ workers" in seen.stdout
    assert "debate worker" in seen.stdout


def test_an_upgrade_says_what_it_did_and_the_next_has_nothing_to_do(home: Home, empty_database: dict[str, str]) -> None:
    first = home.debate("db", "upgrade", **empty_database)
    assert first.process.returncode == 0
    # Alembic's own words, as the lines of a log: this is no terminal.
    steps = [json.loads(line) for line in first.stderr.splitlines()]
    assert any(step["event"].startswith("Running upgrade  -> 0033") for step in steps)
    assert {step["logger"] for step in steps} == {"alembic.runtime.migration"}
    assert first.stdout.startswith("Upgraded the schema from nothing to ")
    second = home.debate("db", "upgrade", **empty_database)
    assert second.process.returncode == 0
    assert "Running upgrade" not in second.stderr
    assert "already" in second.stdout


def test_a_schema_of_a_newer_version_stays_as_it_is(place: Place, configured: Home) -> None:
    """After a rollback: the older version can use it, because migrations only add."""
    with schema.at(place, "9999"):
        upgraded = configured.debate("db", "upgrade")
        assert upgraded.process.returncode == 0, upgraded.stderr
        assert "at revision 9999, newer than this version" in upgraded.stdout
        assert "✓ schema" in configured.debate("doctor").stdout
        assert place.sql("SELECT version_num FROM alembic_version") == [("9999",)]


@pytest.mark.parametrize("arguments", [("db", "upgrade"), ("api",), ("worker",)])
def test_a_schema_that_is_too_old_to_be_upgraded_is_refused(
    place: Place, configured: Home, arguments: tuple[str, ...]
) -> None:
    words = "The schema is at revision 0012, and this version upgrades from 0033 on"
    with schema.at(place, "0012"):
        refused = configured.debate(*arguments)
        assert refused.process.returncode == 1
        # After alembic's lines of the log.
        *_, problem, advice = refused.stderr.splitlines()
        assert problem == f"debate: {words}"
        assert "docs/upgrading.md" in advice
        seen = configured.debate("doctor").stdout
        assert "✗ schema" in seen
        assert words in seen
        assert place.sql("SELECT version_num FROM alembic_version") == [("0012",)]


def test_two_upgrades_at_once_both_succeed_and_one_of_them_did_it(home: Home, empty_database: dict[str, str]) -> None:
    both = [home.start("db", "upgrade", **empty_database) for _ in range(2)]
    assert [upgrade.end() for upgrade in both] == [0, 0], [upgrade.stderr for upgrade in both]
    assert sorted("already" in upgrade.stdout for upgrade in both) == [False, True]


@pytest.mark.parametrize("arguments", [("db", "upgrade"), ("repair",)])
def test_without_a_database_the_command_says_so(home: Home, arguments: tuple[str, ...]) -> None:
    refused = home.debate(*arguments, DEBATE_DATABASE_URL=NO_DATABASE, DEBATE_REDIS_URL=NO_REDIS)
    assert_one_sentence(refused, 1, "The database is unavailable")


def test_repair_shows_which_cursor_it_put_right(place: Place, configured: Home) -> None:
    debate_id = place.start_api().create(title="Damaged [red]")["id"]
    damage_cursor(place, debate_id, 9, "debater_b")
    repaired = configured.debate("repair")
    assert (repaired.process.returncode, repaired.stderr) == (0, "")
    database, line, summary = repaired.stdout.splitlines()
    assert database.startswith("Database: postgresql://")
    for words in (debate_id, "round 9, debater_b, 1 turns  →  round 1, debater_a, 1 turns", "Damaged [red]"):
        assert words in line
    assert summary == "1 cursor repaired."

    change(place, "turn_count = 5", debate_id=debate_id)
    assert [row["debate_id"] for row in configured.json("repair")["repaired"]] == [debate_id]
    assert configured.debate("repair").stdout.splitlines()[1:] == ["Every cursor is correct."]
