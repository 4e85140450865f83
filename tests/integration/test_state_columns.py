"""What revision 0035 makes of state that was stored as a sentence, a beginning of a name or a magic number."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from test_migrations import empty, put, upgrade_to

from app.embedded import ServerUrls
from app.store.migrate import upgrade

Connection = psycopg.Connection[Any]
pytestmark = pytest.mark.long
DEBATES = {
    # status, stop_reason, stop_note, turn_count → imported, missed_deadline
    ("completed", "max_rounds", None, 1): (True, False),
    ("completed", "max_rounds", None, 2): (False, False),
    ("completed", "ruling", None, 1): (False, False),
    ("stopped", "time_limit", "The opponent did not answer within 5 seconds.", 3): (False, True),
    ("stopped", "time_limit", None, 3): (False, False),
    ("stopped", "manual_stop", "The opponent did not answer within 5 seconds.", 3): (False, False),
    ("completed", "forfeit", "The opponent did not answer and forfeits.", 3): (False, True),
    ("running", None, None, 1): (False, False),
}
STOPPED = "The experiment was stopped."
MATCHES = {("running", STOPPED): True, ("running", None): False, ("failed", STOPPED): False}
JUDGES = {"person:ana": "person", "agent:bob": "agent", "gpt": "worker", "personality:x": "worker", "x": "worker"}


class Before:
    """A database of the revision before, with a debate, and an experiment with one match."""

    def __init__(self, database_url: str, connection: Connection) -> None:
        self.database_url = database_url
        self.connection = connection
        self.debate_id = put(connection, "completed", "debate", None)
        upgrade_to(database_url, "0034")
        self.experiment_id = self.put_experiment("argued", 2)
        self.put_match(1, "completed", None)

    def put_experiment(self, name: str, concurrency: int) -> UUID:
        experiment_id = uuid4()
        self.connection.execute(
            "INSERT INTO experiments (id, name, spec, arbitrator, concurrency, created_by, status)"
            " VALUES (%s, %s, '{}', '{}', %s, 'operator', 'completed')",
            (experiment_id, name, concurrency),
        )
        return experiment_id

    def put_match(self, position: int, status: str, reason: str | None) -> None:
        self.connection.execute(
            "INSERT INTO matches (experiment_id, key, position, arm, motion_id, repeat, status, reason, debate_id)"
            " VALUES (%s, %s, %s, '', 'm1', %s, %s, %s, %s)",
            (self.experiment_id, f"k{position}", position, position, status, reason, uuid4()),
        )

    def put_judgment(self, judge: str) -> None:
        self.connection.execute(
            'INSERT INTO judgments (id, debate_id, judge, "order", setup, status, experiment_id)'
            " VALUES (gen_random_uuid(), %s, %s, 'as_spoken', '{}', 'planned', %s)",
            (self.debate_id, judge, self.experiment_id),
        )


@pytest.fixture
def before(servers: ServerUrls) -> Iterator[Before]:
    database_url = empty(servers)
    upgrade_to(database_url, "0033")
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield Before(database_url, connection)


def _copied(connection: Connection, debate_id: UUID, **changes: object) -> UUID:
    """A row like this one, with another id."""
    new = {"id": uuid4(), "client_request_id": str(uuid4()), **changes}
    row = psycopg.types.json.Jsonb({name: value if value is None else str(value) for name, value in new.items()})
    connection.execute(
        "INSERT INTO debates SELECT (jsonb_populate_record(debates, %s)).* FROM debates WHERE id = %s", (row, debate_id)
    )
    return new["id"]


def test_sentences_names_and_magic_numbers_become_columns(before: Before) -> None:
    connection = before.connection
    debates = {}
    for status, reason, note, count in DEBATES:
        changes = {"status": status, "stop_reason": reason, "stop_note": note, "turn_count": count}
        debates[status, reason, note, count] = _copied(connection, before.debate_id, **changes)
    for number, (status, reason) in enumerate(MATCHES, 2):
        before.put_match(number, status, reason)
    for judge in JUDGES:
        before.put_judgment(judge)
    before.put_experiment("imported", 0)

    upgrade(before.database_url)

    flags = {row[0]: row[1:] for row in connection.execute("SELECT id, imported, missed_deadline FROM debates")}
    assert {key: flags[debate_id] for key, debate_id in debates.items()} == DEBATES
    rows = connection.execute("SELECT status, reason, interrupted FROM matches WHERE position > 1").fetchall()
    assert {(status, reason): interrupted for status, reason, interrupted in rows} == MATCHES
    kinds = dict(connection.execute("SELECT judge, judge_kind FROM judgments").fetchall())
    assert {judge: kinds[judge] for judge in JUDGES} == JUDGES
    found = dict(connection.execute("SELECT name, imported FROM experiments").fetchall())
    assert found == {"imported": True, "argued": False}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE experiments SET concurrency = 0",
        "UPDATE experiments SET status = 'stopped', stop_reason = 'a sentence'",
        "UPDATE matches SET interrupted = true WHERE status <> 'running'",
        "UPDATE judgments SET judge_kind = 'somebody'",
    ],
)
def test_the_database_refuses_what_no_column_means(before: Before, change: str) -> None:
    before.put_judgment("gpt")
    upgrade(before.database_url)
    with pytest.raises(psycopg.errors.CheckViolation):
        before.connection.execute(change)
