"""The hot path: turns of claims, each stored with all that it needs, in one statement.

For each turn the row is locked, the fencing token and the deadline are checked, the turn is inserted under its unique
keys, the cursor is moved, and the next claim is taken. Where the check fails nothing is written. It writes the same
columns as `debates.save` after `turns.insert_turns`; a test holds the two together.

Turns that come at the same moment, of different debates, go together: one trip and one commit, however many they are.
None of them waits for a neighbour's row, or fails for a neighbour's sake.

Spoken in psycopg's own words: SQLAlchemy's share of a statement this size costs more than the statement.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from pydantic_core import to_json

from app.core.debate import Debate, Turn
from app.store.debates import Claimed
from app.store.engine import DatabaseAway, Engine
from app.store.looks import autocommit
from app.store.rows import debate_row, turn_row
from app.together import Together

MOST_AT_ONCE = 32
"""Beyond it a turn of a statement hardly costs less, and the last one waits for all."""

_STORE_TURNS = """
WITH given AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%s::jsonb) AS turn (
        token uuid, past_deadline boolean,
        turn_id uuid, debate_id uuid, seq integer, round integer, actor text, type text, content text, player text,
        parent_id uuid, turn_verdict jsonb, usage jsonb,
        status text, next_round integer, next_actor text, intervention_open boolean, stop_reason text, stop_note text,
        last_error text, turn_count integer, input_tokens bigint, output_tokens bigint, cost_usd double precision,
        verdict jsonb, attempts integer,
        schedule text, next_token uuid, claimed_by text, claim_seconds double precision
    )
), held AS MATERIALIZED (
    SELECT given.* FROM given CROSS JOIN LATERAL (
        SELECT FROM debates
        WHERE id = given.debate_id AND claim_token = given.token
          AND coalesce(deadline_at <= clock_timestamp(), false) = given.past_deadline
        FOR UPDATE SKIP LOCKED
    ) AS locked
), stored AS (
    INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player, parent_id, verdict, usage)
    SELECT turn_id, debate_id, seq, round, actor, type, content, player, parent_id, turn_verdict, usage FROM held
    ON CONFLICT DO NOTHING
    RETURNING debate_id, created_at
)
UPDATE debates SET
    status = held.status, next_round = held.next_round, next_actor = held.next_actor,
    intervention_open = held.intervention_open, stop_reason = held.stop_reason, stop_note = held.stop_note,
    last_error = held.last_error, turn_count = held.turn_count, input_tokens = held.input_tokens,
    output_tokens = held.output_tokens, cost_usd = held.cost_usd, verdict = held.verdict, attempts = held.attempts,
    claim_token = held.next_token, claimed_by = held.claimed_by, next_attempt_at = NULL,
    claim_expires_at = CASE held.schedule
        WHEN 'claimed' THEN clock_timestamp() + make_interval(secs => held.claim_seconds) END,
    due_at = CASE held.schedule
        WHEN 'claimed' THEN clock_timestamp() + make_interval(secs => held.claim_seconds)
        WHEN 'queued' THEN clock_timestamp()
        WHEN 'waiting' THEN deadline_at END,
    queued_at = CASE held.schedule WHEN 'queued' THEN clock_timestamp() END,
    updated_at = clock_timestamp()
FROM held JOIN stored USING (debate_id)
WHERE debates.id = held.debate_id
RETURNING debates.id, debates.updated_at, stored.created_at
"""


@dataclass(frozen=True, slots=True)
class NewTurn:
    token: UUID
    turn: Turn
    after: Debate
    following: Claimed | None = None
    """The claim of the next turn, where the task goes on with it."""


Stored = tuple[Debate, Turn]
"""As they are in the database."""


class Committer:
    def __init__(self, engine: Engine) -> None:
        self._together: Together[NewTurn, Stored | None] = Together(partial(_store, engine), MOST_AT_ONCE, DatabaseAway)

    def store_turn(self, new: NewTurn) -> Stored | None:
        """None when the claim no longer holds, the deadline has passed, somebody has the row just now, or the turn is
        there already: whoever wants to know which has to look."""
        return self._together(new)


def _store(engine: Engine, new: Sequence[NewTurn]) -> list[Stored | None]:
    # Two that come with one claim: the first has it, and the other has to look.
    first = {one.after.id: one for one in reversed(new)}
    rows = to_json([_row(one) for one in first.values()]).decode()
    with autocommit(engine) as connection:
        moments = {found[0]: found[1:] for found in connection.execute(_STORE_TURNS, [rows])}
    stored = {debate_id: _stored(first[debate_id], *moments[debate_id]) for debate_id in moments}
    return [stored.get(one.after.id) if first[one.after.id] is one else None for one in new]


def _stored(new: NewTurn, updated_at: datetime, created_at: datetime) -> Stored:
    return new.after.evolve(updated_at=updated_at), replace(new.turn, created_at=created_at)


def _row(new: NewTurn) -> dict[str, Any]:
    """A worker's turn has no agent and no request, and so their columns are left out of the statement."""
    turn, following = turn_row(new.turn), new.following
    return {
        **turn,
        **debate_row(new.after),
        "turn_id": new.turn.id,
        "turn_verdict": turn["verdict"],
        "token": new.token,
        "past_deadline": new.after.past_deadline,
        "schedule": _schedule(new.after, following),
        "next_token": following.token if following else None,
        "claimed_by": following.worker_id if following else None,
        "claim_seconds": following.seconds if following else None,
    }


def _schedule(after: Debate, following: Claimed | None) -> str:
    if following:
        return "claimed"
    if after.awaits_worker:
        return "queued"
    return "closed" if after.is_closed else "waiting"
