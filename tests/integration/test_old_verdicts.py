"""Migration 0010 says of verdicts what they judged: what a person closed a debate with is the debate's, every other one
its round's. Nothing is invented, and what a version before writes on beside it is read as it was meant."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from harness import Api, Place, numbers
from old_rows import VERDICT, fill
from test_migrations import downgrade_to, upgrade_to

from app.embedded import ServerUrls
from app.settings import Settings

OPPONENT = {"winner": "opponent", "scores": {"proposer": 4, "opponent": 8.5}, "reasoning": "Better", "stop": False}
TABLES = {"sessions", "workers", "worker_leases"}


class Upgraded:
    def __init__(self, database_url: str) -> None:
        self.database_url = database_url
        upgrade_to(database_url, "0009")
        with psycopg.connect(database_url) as connection:
            self.ids = fill(connection, TABLES)
            for name in ("judged", "decided"):
                self._rule_round_2(connection, self.ids[name])
        upgrade_to(database_url, "head")
        with psycopg.connect(database_url) as connection:
            # What workers of the version before write while both run.
            self.later = fill(connection, TABLES)
            self._rule_round_2(connection, self.later["judged"])

    def _rule_round_2(self, connection: "psycopg.Connection[Any]", debate_id: UUID) -> None:
        connection.execute(
            "UPDATE turns SET verdict = %s WHERE debate_id = %s AND round = 2 AND actor = 'judge'",
            (json.dumps(OPPONENT), debate_id),
        )
        connection.execute("UPDATE debates SET verdict = %s WHERE id = %s", (json.dumps(OPPONENT), debate_id))


@pytest.fixture(scope="module")
def upgraded(servers: ServerUrls) -> Upgraded:
    name = f"verdicts_{next(numbers)}"
    with psycopg.connect(servers.database_url.replace("/debate?", "/postgres?"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return Upgraded(servers.database_url.replace("/debate?", f"/{name}?"))


@pytest.fixture(scope="module")
def api(upgraded: Upgraded, make_place: Any) -> Iterator[Api]:
    place: Place = make_place()
    place.settings = Settings(database_url=upgraded.database_url, redis_url=place.settings.redis_url)
    yield place.start_api()
    place.end_programs()


def scopes(api: Api, debate_id: UUID) -> list[str]:
    said = api.transcript(str(debate_id))["arguments"]
    return [argument["verdict"]["scope"] for argument in said if argument["verdict"]]


def debate(api: Api, debate_id: UUID) -> dict[str, Any]:
    found: dict[str, Any] = api.transcript(str(debate_id))["debate"]
    return found


def test_a_debate_that_was_judged_round_by_round_has_a_standing_and_no_winner(upgraded: Upgraded, api: Api) -> None:
    judged = debate(api, upgraded.ids["judged"])
    assert judged["verdict"] is None, "the last round's winner is not the debate's"
    assert judged["standing"] == {"scores": {"proposer": 4.5, "opponent": 6.75}, "leader": "opponent", "rounds": 2}
    assert scopes(api, upgraded.ids["judged"]) == ["round", "round"]


def test_what_a_person_closed_a_debate_with_is_the_debates_verdict(upgraded: Upgraded, api: Api) -> None:
    decided = debate(api, upgraded.ids["decided"])
    assert decided["verdict"] == {**OPPONENT, "scope": "debate", "confidence": None}
    assert decided["standing"] == {"scores": {"proposer": 5, "opponent": 5}, "leader": "tie", "rounds": 1}
    assert scopes(api, upgraded.ids["decided"]) == ["round", "debate"]
    closed = debate(api, upgraded.ids["closed"])
    assert closed["verdict"] == {**VERDICT, "scope": "debate", "confidence": None}
    assert closed["standing"] is None


def test_where_nobody_gave_a_verdict_there_is_none(upgraded: Upgraded, api: Api) -> None:
    for name in ("created", "answering", "stopped", "invited", "resolved", "interrupted"):
        found = debate(api, upgraded.ids[name])
        assert (found["verdict"], found["standing"]) == (None, None), name


def test_a_verdict_that_the_version_before_writes_meanwhile_is_not_taken_for_the_debates(
    upgraded: Upgraded, api: Api
) -> None:
    assert debate(api, upgraded.later["judged"])["verdict"] is None
    assert scopes(api, upgraded.later["judged"]) == ["round", "round"]


def test_the_version_before_finds_its_verdicts_after_a_downgrade(upgraded: Upgraded, api: Api) -> None:
    """The last of this file: it ends the schema that the others read."""
    downgrade_to(upgraded.database_url, "0009")
    with psycopg.connect(upgraded.database_url) as connection:
        found = connection.execute("SELECT verdict FROM debates WHERE id = %s", [upgraded.ids["judged"]]).fetchone()
    assert found == (OPPONENT,)
