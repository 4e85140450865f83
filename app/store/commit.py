"""The hot path: one turn of a claim stored in one statement, and so in one transaction and one trip to Postgres.

Everything that a turn needs happens in it: the row is locked, the fencing token and the deadline are checked, the turn
is inserted under its unique keys, the cursor is moved, and the next claim is taken. When the check fails nothing is
written. It writes the same columns as `debates.save` after `turns.insert_turns`; a test holds the two together.

Spoken in psycopg's own words: SQLAlchemy's share of a statement this size costs more than the statement.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from app.core.debate import Debate, Turn
from app.store.debates import Claimed
from app.store.engine import Engine
from app.store.looks import autocommit
from app.store.rows import debate_row, turn_row
from app.store.turns import KEYS_OF_ONE_TURN, TurnExists

_STORE_TURN = """
WITH held AS (
    SELECT id FROM debates
    WHERE id = %(debate_id)s AND claim_token = %(token)s
      AND coalesce(deadline_at <= clock_timestamp(), false) = %(past_deadline)s
    FOR UPDATE
), stored AS (
    INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player, parent_id, verdict, usage)
    SELECT %(turn_id)s, held.id, %(seq)s, %(round)s, %(actor)s, %(type)s, %(content)s, %(player)s,
           %(parent_id)s, %(turn_verdict)s::jsonb, %(usage)s::jsonb
    FROM held
    RETURNING created_at
)
UPDATE debates SET
    status = %(status)s, next_round = %(next_round)s, next_actor = %(next_actor)s,
    intervention_open = %(intervention_open)s, stop_reason = %(stop_reason)s, stop_note = %(stop_note)s,
    last_error = %(last_error)s, turn_count = %(turn_count)s, input_tokens = %(input_tokens)s,
    output_tokens = %(output_tokens)s, cost_usd = %(cost_usd)s, verdict = %(verdict)s::jsonb, attempts = %(attempts)s,
    claim_token = %(next_token)s, claimed_by = %(claimed_by)s, next_attempt_at = NULL,
    claim_expires_at = CASE %(schedule)s::text
        WHEN 'claimed' THEN clock_timestamp() + make_interval(secs => %(claim_seconds)s) END,
    due_at = CASE %(schedule)s::text
        WHEN 'claimed' THEN clock_timestamp() + make_interval(secs => %(claim_seconds)s)
        WHEN 'queued' THEN clock_timestamp()
        WHEN 'waiting' THEN deadline_at END,
    queued_at = CASE %(schedule)s::text WHEN 'queued' THEN clock_timestamp() END,
    updated_at = clock_timestamp()
FROM held, stored
WHERE debates.id = held.id
RETURNING debates.updated_at, stored.created_at
"""


def store_turn(
    engine: Engine, token: UUID, turn: Turn, after: Debate, following: Claimed | None
) -> tuple[Debate, Turn] | None:
    """The debate and the turn as they are stored; None when the claim no longer holds or the deadline has passed.

    `following` is the claim of the next turn, where the task goes on with it. A worker's turn has no agent, and so its
    columns are left out.
    """
    parameters = _parameters(token, turn, after, following)
    try:
        with autocommit(engine) as connection:
            row = connection.execute(_STORE_TURN, parameters).fetchone()
    except psycopg.errors.UniqueViolation as conflict:
        if conflict.diag.constraint_name in KEYS_OF_ONE_TURN:
            raise TurnExists(f"{turn.debate_id} round {turn.round} {turn.seat.actor}") from conflict
        raise
    if row is None:
        return None
    updated_at, created_at = row
    return after.evolve(updated_at=updated_at), replace(turn, created_at=created_at)


def _parameters(token: UUID, turn: Turn, after: Debate, following: Claimed | None) -> dict[str, Any]:
    debate, stored = debate_row(after), turn_row(turn)
    verdict, usage = stored["verdict"], stored["usage"]
    return {
        **debate,
        **stored,
        "verdict": Jsonb(debate["verdict"]) if debate["verdict"] else None,
        "turn_id": turn.id,
        "turn_verdict": Jsonb(verdict) if verdict else None,
        "usage": Jsonb(usage) if usage else None,
        "token": token,
        "past_deadline": after.past_deadline,
        "schedule": _schedule(after, following),
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
