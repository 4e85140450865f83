"""What revision 0035 makes of state that was stored as a sentence, a beginning of a name or a magic number."""

from uuid import UUID, uuid4

import psycopg
import pytest
from old_rows import fill
from test_migrations import REVISIONS, downgrade_to, empty, upgrade_to

pytestmark = pytest.mark.long
__all__ = ["empty"]
BEFORE = REVISIONS[REVISIONS.index("0035") - 1]
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


@pytest.fixture
def connection(empty: str):
    upgrade_to(empty, BEFORE)
    with psycopg.connect(empty, autocommit=True) as connection:
        yield connection
    downgrade_to(empty, BEFORE)


def _tables(connection: "psycopg.Connection") -> set[str]:
    return {name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def _copied(connection: "psycopg.Connection", debate_id: UUID, **changes: object) -> UUID:
    """A row like this one, with another id."""
    new = {"id": uuid4(), "client_request_id": str(uuid4()), **changes}
    row = psycopg.types.json.Jsonb({name: value if value is None else str(value) for name, value in new.items()})
    connection.execute(
        "INSERT INTO debates SELECT (jsonb_populate_record(debates, %s)).* FROM debates WHERE id = %s", (row, debate_id)
    )
    return new["id"]


def test_sentences_names_and_magic_numbers_become_columns(connection: "psycopg.Connection", empty: str) -> None:
    ids = fill(connection, _tables(connection))
    debates = {}
    for status, reason, note, count in DEBATES:
        changes = {"status": status, "stop_reason": reason, "stop_note": note, "turn_count": count}
        debates[status, reason, note, count] = _copied(connection, ids["completed"], **changes)
    [(experiment,)] = connection.execute("SELECT id FROM experiments").fetchall()
    for number, (status, reason) in enumerate(MATCHES, 2):
        connection.execute(
            "INSERT INTO matches (experiment_id, key, position, arm, motion_id, repeat, status, reason, debate_id)"
            " VALUES (%s, %s, %s, '', 'm1', %s, %s, %s, %s)",
            (experiment, f"k{number}", number, number, status, reason, uuid4()),
        )
    for judge in JUDGES:
        connection.execute(
            'INSERT INTO judgments (id, debate_id, judge, "order", setup, status, experiment_id)'
            " VALUES (gen_random_uuid(), %s, %s, 'as_spoken', '{}', 'planned', %s)",
            (ids["completed"], judge, experiment),
        )
    imported = "INSERT INTO experiments (id, name, spec, arbitrator, concurrency, created_by, status)"
    connection.execute(f"{imported} VALUES (%s, 'imported', '{{}}', '{{}}', 0, 'operator', 'completed')", (uuid4(),))

    upgrade_to(empty, "head")

    flags = {row[0]: row[1:] for row in connection.execute("SELECT id, imported, missed_deadline FROM debates")}
    assert {key: flags[debate_id] for key, debate_id in debates.items()} == DEBATES
    rows = connection.execute("SELECT status, reason, interrupted FROM matches WHERE position > 1").fetchall()
    assert {(status, reason): interrupted for status, reason, interrupted in rows} == MATCHES
    kinds = dict(connection.execute("SELECT judge, judge_kind FROM judgments").fetchall())
    assert {judge: kinds[judge] for judge in JUDGES} == JUDGES
    found = dict(connection.execute("SELECT name = 'imported', imported FROM experiments").fetchall())
    assert found == {True: True, False: False}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE experiments SET concurrency = 0",
        "UPDATE experiments SET status = 'stopped', stop_reason = 'a sentence'",
        "UPDATE matches SET interrupted = true WHERE status <> 'running'",
        "UPDATE judgments SET judge_kind = 'somebody'",
    ],
)
def test_the_database_refuses_what_no_column_means(connection: "psycopg.Connection", empty: str, change: str) -> None:
    upgrade_to(empty, "head")
    fill(connection, _tables(connection))
    with pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(change)
