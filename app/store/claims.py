"""Claims of several debates at once: two trips to Postgres, however many they are.

It writes what `debates.reschedule` writes for the claim of a debate that nothing else has happened to; a test holds the
two together.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from sqlalchemy import Uuid, bindparam, func
from sqlalchemy.dialects.postgresql import ARRAY

from app.core.debate import Turn
from app.store.debates import Claimed, Locked, locked_of, with_schedule
from app.store.engine import Engine
from app.store.looks import Look, borrowed
from app.store.rows import turn_of
from app.store.tables import debates

# Whoever has one of the rows just now must not hold up the others.
_LOCK = Look(
    with_schedule.where(debates.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid)))).with_for_update(skip_locked=True)
)
_TAILS = """
SELECT turn.* FROM unnest(%(ids)s) AS wanted (id)
CROSS JOIN LATERAL (
    (SELECT * FROM turns WHERE debate_id = wanted.id ORDER BY seq DESC LIMIT %(count)s)
    UNION ALL
    SELECT * FROM turns WHERE debate_id = wanted.id AND seq = 1
) AS turn
"""
_TAKE = """
UPDATE debates SET
    status = 'running', claim_token = given.token, claimed_by = given.worker_id,
    claim_expires_at = clock_timestamp() + make_interval(secs => given.seconds),
    due_at = clock_timestamp() + make_interval(secs => given.seconds),
    next_attempt_at = NULL, queued_at = NULL
FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::float8[]) AS given (id, token, worker_id, seconds)
WHERE debates.id = given.id
"""


class Claiming:
    """A transaction that takes claims."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection

    def lock(self, ids: list[UUID], count: int) -> dict[UUID, tuple[Locked, tuple[Turn, ...]]]:
        """Each debate with its motion and its last turns, oldest first; without those that somebody else has locked."""
        debates_cursor, turns_cursor = (self._connection.cursor(row_factory=dict_row) for _ in range(2))
        debates_cursor.execute(*_LOCK.asked(ids=ids))
        # A statement of its own, so that it sees what was stored until the rows were locked.
        turns_cursor.execute(_TAILS, {"ids": ids, "count": count})
        locked = [locked_of(row) for row in debates_cursor]
        turns: defaultdict[UUID, dict[int, Turn]] = defaultdict(dict)
        for row in turns_cursor:
            turns[row["debate_id"]][row["seq"]] = turn_of(row)
        return {one.debate.id: (one, tuple(turn for _, turn in sorted(turns[one.debate.id].items()))) for one in locked}

    def take(self, claims: Sequence[tuple[UUID, Claimed]]) -> None:
        columns = zip(*((debate_id, to.token, to.worker_id, to.seconds) for debate_id, to in claims), strict=True)
        self._connection.execute(_TAKE, [list(column) for column in columns])


@contextmanager
def claiming(engine: Engine) -> Iterator[Claiming]:
    """Committed at the end of the block. What needs no answer is sent along with what does."""
    with borrowed(engine) as connection:
        connection.autocommit = False
        with connection.pipeline():
            yield Claiming(connection)
            connection.commit()
