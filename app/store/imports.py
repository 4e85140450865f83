"""Debates that took place elsewhere, with their judgments and the rows of their experiment: many in one statement."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import Connection, text

from app.store.rows import CHANGING, SET_UP, SPOKEN, declared, listed

_DEBATE = (*SET_UP, *CHANGING)
STATEMENTS = {
    "motions": text("""
INSERT INTO motions (experiment_id, id, position, motion, correct)
SELECT experiment_id, id,
       position + (SELECT coalesce(max(position), 0) FROM motions WHERE motions.experiment_id = given.experiment_id),
       motion, correct
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
    experiment_id uuid, id text, position integer, motion text, correct text)
ON CONFLICT (experiment_id, id) DO UPDATE SET motion = motions.id WHERE motions.motion <> excluded.motion
"""),
    "debates": text(f"""
INSERT INTO debates ({listed(_DEBATE)}, created_by, client_request_id)
SELECT {listed(_DEBATE)}, created_by, client_request_id
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given ({declared(_DEBATE)}, created_by text, client_request_id text)
"""),  # noqa: S608 (only names of columns are put in)
    "turns": text(f"""
INSERT INTO turns ({listed(SPOKEN)}, created_at)
SELECT {listed(SPOKEN)}, coalesce(created_at, clock_timestamp())
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given ({declared(SPOKEN)}, created_at timestamptz)
"""),  # noqa: S608 (only names of columns are put in)
    "matches": text("""
INSERT INTO matches (experiment_id, key, position, arm, motion_id, proposer, opponent, repeat, answer, status,
                     debate_id)
SELECT experiment_id, key,
       position + (SELECT coalesce(max(position), 0) FROM matches WHERE matches.experiment_id = given.experiment_id),
       arm, motion_id, proposer, opponent, repeat, answer, 'completed', debate_id
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
    experiment_id uuid, key text, position integer, arm text, motion_id text, proposer text, opponent text,
    repeat integer, answer text, debate_id uuid)
"""),
    "judgments": text("""
INSERT INTO judgments (id, debate_id, judge, judge_kind, "order", repeat, through_round, setup, status, verdict,
                       cost_usd, experiment_id, judged_at)
SELECT id, debate_id, judge, judge_kind, "order", repeat, through_round, setup, 'completed', verdict,
       cost_usd, experiment_id, judged_at
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
    id uuid, debate_id uuid, judge text, judge_kind text, "order" text, repeat integer, through_round integer,
    setup jsonb, verdict jsonb, cost_usd double precision, experiment_id uuid, judged_at timestamptz)
"""),
}
"""By kind of row, in the order in which they run: each kind refers to earlier ones only."""
STATEMENT_BYTES = 2**20
"""Of the rows of one statement: sending more keeps other requests waiting."""
IMPORT_LOCK = 0x5EB47E04
"""The class of the advisory locks of imports: two of one caller would race for the same debates."""
_LOCK = text("SELECT pg_advisory_xact_lock(CAST(:kind AS integer), hashtext(:created_by))")
_KNOWN = text("""
SELECT client_request_id, id FROM debates WHERE created_by = :created_by AND client_request_id = ANY(:keys)
""")
_TAKEN = text("SELECT key FROM matches WHERE experiment_id = :experiment_id AND key = ANY(:keys)")
_WITH_ANSWERS = text("""
SELECT id, correct IS NOT NULL FROM motions WHERE experiment_id = :experiment_id AND id = ANY(:ids)
""")


def packed(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The rows as JSON, in lists of about STATEMENT_BYTES."""
    part: list[bytes] = []
    size = 0
    for row in rows:
        one = to_json(row)
        if part and size + len(one) > STATEMENT_BYTES:
            yield f"[{b','.join(part).decode()}]"
            part, size = [], 0
        part.append(one)
        size += len(one)
    if part:
        yield f"[{b','.join(part).decode()}]"


def add(connection: Connection, kind: str, rows: str) -> None:
    """`rows` were packed."""
    connection.execute(STATEMENTS[kind], {"rows": rows})


def lock(connection: Connection, created_by: str) -> None:
    """Until the end of the transaction, for this caller's imports."""
    connection.execute(_LOCK, {"kind": IMPORT_LOCK, "created_by": created_by})


def known(connection: Connection, created_by: str, keys: Collection[str]) -> dict[str, UUID]:
    """The debates that this caller has made under these ids of requests."""
    return {row[0]: row[1] for row in connection.execute(_KNOWN, {"created_by": created_by, "keys": list(keys)})}


def taken_keys(connection: Connection, experiment_id: UUID, keys: Collection[str]) -> set[str]:
    """Of matches of this experiment."""
    return set(connection.execute(_TAKEN, {"experiment_id": experiment_id, "keys": list(keys)}).scalars())


def with_answers(connection: Connection, experiment_id: UUID, motion_ids: Collection[str]) -> dict[str, bool]:
    """Of the motions that are there, whether it is known which answer is correct."""
    found = connection.execute(_WITH_ANSWERS, {"experiment_id": experiment_id, "ids": list(motion_ids)})
    return {row[0]: row[1] for row in found}
