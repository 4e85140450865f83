"""Claims of debates. One statement claims all that a worker has room for: the debates that it was asked for, and
those that have been due longest."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row
from sqlalchemy import Connection, func, select

from app.core.claims import Room
from app.core.debate import Debate, Turn
from app.store import claimed_rows
from app.store.engine import Engine
from app.store.rows import READ_AS_TEXT, SCHEDULE_OF_DEBATE, debate_columns, debate_of, turn_of
from app.store.statements import Prepared, count
from app.store.tables import debates

_COLUMNS = ", ".join(
    f"debates.{column.name}::text AS {column.name}" if column.name in READ_AS_TEXT else f"debates.{column.name}"
    for column in debate_columns
    if column.name in debates.c
)
# Finds due, unclaimed debates in three ways: by id; of the shares that this worker knows and has room for; of other
# shares. `shares` steps through the index from one share to the next, so that a debate started by hand is found
# however many debates of experiments are due before it.
# `chosen` has two limits for the same reason as `given` in app/store/commit.py. `coalesce` in `wanted` leaves Postgres
# only the id to look a debate up by.
_CHOSEN = """shares AS (
    (SELECT share FROM debates WHERE due_at IS NOT NULL ORDER BY share LIMIT 1)
    UNION ALL
    SELECT following.share FROM shares CROSS JOIN LATERAL (
        SELECT share FROM debates WHERE due_at IS NOT NULL AND debates.share > shares.share ORDER BY share LIMIT 1
    ) AS following
), wanted AS MATERIALIZED (
    SELECT found.id, found.due_at, found.is_of_experiment
    FROM unnest(%(ids)s::uuid[]) AS asked (id)
    CROSS JOIN LATERAL (
        SELECT id, due_at, experiment_id IS NOT NULL AS is_of_experiment FROM debates
        WHERE id = asked.id AND coalesce(
            due_at <= now() AND claim_token IS NULL AND status IN ('created', 'running') AND share <> ALL(%(full)s),
            false
        )
        FOR UPDATE SKIP LOCKED
    ) AS found
), of_known_shares AS MATERIALIZED (
    SELECT found.id, found.due_at, found.is_of_experiment
    FROM unnest(%(shares)s::text[], %(free)s::integer[]) AS room (share, free)
    CROSS JOIN LATERAL (
        SELECT id, due_at, experiment_id IS NOT NULL AS is_of_experiment FROM debates
        WHERE share = room.share AND due_at <= now() AND claim_token IS NULL AND status IN ('created', 'running')
          AND id <> ALL(%(ids)s)
        ORDER BY due_at LIMIT room.free FOR UPDATE SKIP LOCKED
    ) AS found
), of_new_shares AS MATERIALIZED (
    SELECT found.id, found.due_at, found.is_of_experiment
    FROM shares CROSS JOIN LATERAL (
        SELECT id, due_at, experiment_id IS NOT NULL AS is_of_experiment FROM debates
        WHERE share = shares.share AND due_at <= now() AND claim_token IS NULL AND status IN ('created', 'running')
          AND id <> ALL(%(ids)s)
        ORDER BY due_at LIMIT %(free_of_new)s FOR UPDATE SKIP LOCKED
    ) AS found
    WHERE shares.share <> ALL(%(known)s)
), chosen AS MATERIALIZED (
    SELECT * FROM (
        SELECT id, due_at AS was_due_at, row_number() OVER (ORDER BY is_of_experiment, is_wanted DESC, due_at) AS number
        FROM (
            SELECT id, due_at, is_of_experiment, true AS is_wanted FROM wanted
            UNION ALL SELECT id, due_at, is_of_experiment, false FROM of_known_shares
            UNION ALL SELECT id, due_at, is_of_experiment, false FROM of_new_shares
        ) AS any_of
        ORDER BY number LIMIT cardinality(%(tokens)s::uuid[])
    ) AS first LIMIT cardinality(%(tokens)s::uuid[])
)"""
_CHANGED = """, status = 'running', next_attempt_at = NULL,
    deadline_at = CASE WHEN status = 'running' OR NOT limits ? 'max_seconds' THEN deadline_at
        ELSE clock_timestamp() + make_interval(
            secs => coalesce(seconds_left, (limits ->> 'max_seconds')::double precision)) END,
    seconds_left = CASE WHEN status = 'running' THEN seconds_left END"""
_RETURNED = f"""{_COLUMNS}, {SCHEDULE_OF_DEBATE} AS schedule,
    coalesce(deadline_at <= clock_timestamp(), false) AS past_deadline,
    coalesce(waiting_until <= clock_timestamp(), false) AS past_waiting, claim_token,
    extract(epoch FROM clock_timestamp() - was_due_at)::double precision AS waited_seconds"""
_CLAIM = claimed_rows.claim_statement(claimed_rows.DEBATES, _CHOSEN, _RETURNED, _CHANGED)
# The motion is left out after the limit: with another condition on `seq` Postgres may read all turns and sort them.
_LAST_TURNS = Prepared("""
SELECT turn.* FROM unnest(%(ids)s) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT * FROM (SELECT * FROM turns WHERE debate_id = wanted.id ORDER BY seq DESC LIMIT %(count)s) AS last
    WHERE seq > 1
    UNION ALL
    SELECT * FROM turns WHERE debate_id = wanted.id AND seq = 1
) AS turn
""")
_SHARES_WITH_WAITING = """
SELECT share FROM unnest(%s::text[]) AS full_one (share) WHERE EXISTS (
    SELECT FROM debates WHERE debates.share = full_one.share AND due_at <= now() AND claim_token IS NULL
)
"""

_FAIL_DAMAGED = """
UPDATE debates SET
    status = 'failed', last_error = %s, claim_token = NULL, claimed_by = NULL, due_at = NULL,
    updated_at = clock_timestamp(),
    seconds_left = extract(epoch FROM deadline_at - clock_timestamp()), deadline_at = NULL
WHERE id = %s AND claim_token = %s
"""


@dataclass(frozen=True, slots=True)
class ClaimedDebate:
    debate: Debate
    token: UUID
    turns: tuple[Turn, ...]
    """Its motion and its last turns, oldest first."""
    waited_seconds: float
    """Since it was due."""


@dataclass(frozen=True, slots=True)
class DamagedDebate:
    """A row that cannot be read. It must not keep the others of its statement from being claimed."""

    debate_id: UUID
    token: UUID
    problem: str


def claim(
    engine: Engine, worker_id: str, wanted: Sequence[UUID], room: Room, tokens: Sequence[UUID], turn_count: int
) -> list[ClaimedDebate | DamagedDebate]:
    """Claims at most as many debates as there are tokens; nothing without a live lease of this worker."""
    # Any of the wanted may turn out to be of any share: what is left for the others is less by so many.
    free = {share: max(0, free - len(wanted)) for share, free in room.free.items()}
    parameters = {
        "ids": list(wanted),
        "full": room.full,
        "shares": [share for share, left in free.items() if left],
        "free": [min(left, len(tokens)) for left in free.values() if left],
        "known": list(room.free),
        "free_of_new": max(0, min(room.free_of_new - len(wanted), len(tokens))),
        "tokens": list(tokens),
        "worker_id": worker_id,
    }
    with engine.autocommit() as connection:
        claimed = _CLAIM.run(connection, parameters, dict_row).fetchall()
        if not claimed:
            return []
        ids = [row["id"] for row in claimed]
        turns: defaultdict[UUID, list[dict[str, Any]]] = defaultdict(list)
        for row in _LAST_TURNS.run(connection, {"ids": ids, "count": turn_count}, dict_row):
            turns[row["debate_id"]].append(row)
    return [_claimed(row, turns[row["id"]]) for row in claimed]


def _claimed(row: dict[str, Any], turn_rows: list[dict[str, Any]]) -> ClaimedDebate | DamagedDebate:
    try:
        turn_rows.sort(key=itemgetter("seq"))
        if not turn_rows or turn_rows[0]["seq"] != 1:
            raise ValueError("it has no motion")
        turns = tuple(map(turn_of, turn_rows))
        return ClaimedDebate(debate_of(row), row["claim_token"], turns, max(0.0, row["waited_seconds"]))
    except (ValueError, KeyError, TypeError) as problem:
        return DamagedDebate(row["id"], row["claim_token"], f"{type(problem).__name__}: {problem}")


def fail_damaged(engine: Engine, damaged: DamagedDebate, words: str) -> bool:
    """False where it was deleted, or its claim has ended."""
    with engine.autocommit() as connection:
        return connection.execute(_FAIL_DAMAGED, [words, damaged.debate_id, damaged.token]).rowcount == 1


def shares_with_waiting(engine: Engine, shares: Sequence[str]) -> set[str]:
    """Of these shares, those that have a debate without a claim."""
    with engine.autocommit() as connection:
        return {row[0] for row in connection.execute(_SHARES_WITH_WAITING, [list(shares)])}


def count_due(connection: Connection, at_most: int) -> int:
    """How many turns a worker could take now."""
    due = select(debates.c.id).where(debates.c.due_at <= func.now(), debates.c.claim_token.is_(None))
    return count(connection, due, at_most)
