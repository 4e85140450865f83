"""The one statement that changes a debate: it stores turns, with what models were sent for them, moves the cursor and
schedules the debate.

A worker's change is fenced: nothing is written without its claim's token, its live lease and the deadline that the
decision assumed. The statement takes changes of different debates in one round trip (`worker.batcher`), and reports a
row that another transaction has locked instead of waiting. A change from outside comes alone, its row locked already.

| schedule | means | columns |
|---|---|---|
| `SETTLED` | what the debate itself says: due now if a worker's seat has the floor, else nothing to do | `due_at` |
| `ClaimToken` | a worker generates the next turn | `claim_token`, `claimed_by`, `due_at` |
| `Later` | the player failed, or has to wait; not before a delay | `next_attempt_at`, `due_at` |
| `KEEP_CLAIM` | the worker that generates a turn continues; without one as `SETTLED` | none |
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.rows import namedtuple_row
from pydantic_core import to_json
from sqlalchemy.exc import IntegrityError

from app.core.changes import Change, ClaimToken, Later, Outcome, PlainSchedule, Result, Schedule
from app.core.debate import Debate, Status, Usage
from app.core.retry import stored_delay
from app.store import exchanges
from app.store.engine import Connection, Engine
from app.store.rows import CHANGING, SPOKEN, debate_row, declared, listed, turn_row
from app.store.statements import Prepared
from app.store.tables import exchanges as exchange_table
from app.store.turns import KEYS_OF_ONE_TURN, TurnExists

_SENT = [exchange_table.c[name] for name in ("number", *exchanges.exchange_rows.columns)]
_CHANGED = ", ".join(f"{column.name} = held.{column.name}" for column in CHANGING if column.name != "status")
_CHANGE = Prepared(f"""
WITH given AS MATERIALIZED (
    SELECT * FROM (
        SELECT * FROM jsonb_to_recordset(%(changes)s::jsonb) AS given (
            debate_id uuid, token uuid, worker_id text, past_deadline boolean, turns jsonb, first_turn_id uuid,
            exchanges jsonb,
            {declared(CHANGING)}, input_tokens bigint, output_tokens bigint, cost_usd double precision,
            is_activity boolean, schedule text, keeps_claim boolean, next_token uuid, delay_seconds double precision,
            answer_seconds double precision, event jsonb
        ) LIMIT %(count)s
    ) AS given LIMIT %(count)s
), live AS MATERIALIZED (
    SELECT worker_id FROM worker_leases WHERE expires_at > clock_timestamp()
), held AS MATERIALIZED (
    SELECT given.*, locked.* FROM given CROSS JOIN LATERAL (
        SELECT clock_timestamp() AS at, claim_token AS held_token, claimed_by AS held_by,
               turn_count AS held_turn_count, waiting_until AS held_waiting_until,
               new_status, status = 'paused' AND new_status = 'paused' AS stays_paused,
               CASE WHEN status = new_status OR new_status IN ('completed', 'stopped')
                         OR NOT limits ? 'max_seconds' THEN deadline_at
                    WHEN new_status = 'running' THEN clock_timestamp() + make_interval(
                         secs => coalesce(seconds_left, (limits ->> 'max_seconds')::double precision)) END AS deadline,
               CASE WHEN status = new_status OR new_status IN ('completed', 'stopped')
                         OR NOT limits ? 'max_seconds' THEN seconds_left
                    WHEN new_status <> 'running'
                    THEN coalesce(extract(epoch FROM deadline_at - clock_timestamp()), seconds_left)
               END AS left_seconds
        FROM debates CROSS JOIN LATERAL (
            -- A debate that was paused while its worker generated the turn stays paused.
            SELECT CASE WHEN given.token IS NOT NULL AND status = 'paused' AND given.status = 'running' THEN 'paused'
                        ELSE given.status END AS new_status
        ) AS decided
        WHERE id = given.debate_id AND (
            given.token IS NULL
            OR claim_token = given.token AND given.worker_id IN (SELECT worker_id FROM live)
               AND coalesce(deadline_at <= clock_timestamp(), false) = given.past_deadline
        )
        FOR UPDATE OF debates SKIP LOCKED
    ) AS locked
), planned AS MATERIALIZED (
    -- `kept`: a worker's claim outlives the change.
    -- A seat has its whole time from when it gets the floor, and again after a pause or a failure.
    SELECT held.*,
           CASE WHEN held.answer_seconds IS NULL OR held.new_status NOT IN ('created', 'running') THEN NULL
                WHEN held.held_turn_count = held.turn_count AND held.held_waiting_until IS NOT NULL
                THEN held.held_waiting_until
                ELSE held.at + make_interval(secs => held.answer_seconds) END AS answer_by,
           CASE WHEN held.stays_paused AND held.token IS NOT NULL THEN 'waiting'
                WHEN held.keeps_claim AND held.held_token IS NOT NULL THEN 'kept'
                ELSE held.schedule END AS action
    FROM held
), stored AS (
    INSERT INTO turns ({listed(SPOKEN)}, worker, claim, created_at)
    SELECT {listed(SPOKEN, "turn")}, held.worker_id, held.token, held.at
    FROM held CROSS JOIN LATERAL jsonb_to_recordset(held.turns) AS turn ({declared(SPOKEN)})
), exchanged AS (
    INSERT INTO exchanges (turn_id, {listed(_SENT)}, created_at)
    SELECT held.first_turn_id, {listed(_SENT, "call")}, held.at
    FROM held CROSS JOIN LATERAL jsonb_to_recordset(held.exchanges) AS call ({declared(_SENT)})
), noted AS (
    INSERT INTO debate_events (debate_id, at, kind, by, about)
    SELECT held.debate_id, held.at, held.event ->> 'kind', held.event ->> 'by', held.event -> 'about'
    FROM held WHERE held.event IS NOT NULL
), answered AS (
    DELETE FROM model_calls USING held WHERE model_calls.claim = held.token
), saved AS (
    UPDATE debates SET
        {_CHANGED}, status = held.new_status,
        input_tokens = debates.input_tokens + held.input_tokens,
        output_tokens = debates.output_tokens + held.output_tokens, cost_usd = debates.cost_usd + held.cost_usd,
        settled_token = coalesce(held.token, debates.settled_token),
        claim_token = CASE held.action WHEN 'claimed' THEN held.next_token WHEN 'kept' THEN held.held_token END,
        claimed_by = CASE held.action WHEN 'claimed' THEN held.worker_id WHEN 'kept' THEN held.held_by END,
        next_attempt_at = CASE held.action WHEN 'later' THEN held.at + make_interval(secs => held.delay_seconds) END,
        deadline_at = held.deadline, seconds_left = held.left_seconds, waiting_until = held.answer_by,
        due_at = CASE held.action
            WHEN 'claimed' THEN 'infinity'
            WHEN 'kept' THEN 'infinity'
            WHEN 'later' THEN held.at + make_interval(secs => held.delay_seconds)
            WHEN 'due' THEN held.at
            WHEN 'waiting' THEN least(held.deadline, held.answer_by) END,
        updated_at = CASE WHEN held.is_activity THEN held.at ELSE debates.updated_at END
    FROM planned AS held WHERE debates.id = held.debate_id
    RETURNING debates.id, debates.updated_at, debates.input_tokens, debates.output_tokens, debates.cost_usd,
              debates.status, debates.claim_token, debates.waiting_until, held.at,
              CASE WHEN held.action <> 'kept' THEN held.held_token END AS ended_claim
)
SELECT given.debate_id AS id,
       CASE WHEN saved.id IS NOT NULL THEN 'stored'
            WHEN seen.claim_token IS DISTINCT FROM given.token THEN
                 CASE WHEN EXISTS (SELECT FROM turns WHERE turns.id = given.first_turn_id)
                           OR given.first_turn_id IS NULL AND seen.settled_token = given.token
                      THEN 'already_stored' ELSE 'claim_lost' END
            WHEN given.worker_id NOT IN (SELECT worker_id FROM live) THEN 'lease_lapsed'
            WHEN coalesce(seen.deadline_at <= clock_timestamp(), false) <> given.past_deadline THEN 'deadline_differs'
            ELSE 'row_locked' END AS result,
       coalesce(saved.updated_at, seen.updated_at) AS updated_at, coalesce(saved.at, seen.updated_at) AS at,
       coalesce(saved.input_tokens, seen.input_tokens) AS input_tokens,
       coalesce(saved.output_tokens, seen.output_tokens) AS output_tokens,
       coalesce(saved.cost_usd, seen.cost_usd) AS cost_usd, saved.ended_claim,
       coalesce(saved.status, seen.status) AS status,
       coalesce(coalesce(saved.claim_token, seen.claim_token) = given.next_token, false) AS has_next_claim,
       CASE WHEN saved.id IS NOT NULL THEN saved.waiting_until ELSE seen.waiting_until END AS waiting_until
FROM given
FULL JOIN saved ON saved.id = given.debate_id
LEFT JOIN LATERAL (SELECT * FROM debates WHERE id = given.debate_id AND saved.id IS NULL OFFSET 0) AS seen ON true
""")  # noqa: S608 (only names and types of columns are put in)
# The limits of `given` remove no row. Postgres expects a tenth of the rows behind each, so one change of a hundred, and
# looks debates up by their ids. Otherwise it would read all debates while they are few, and keep that plan.
# `FULL JOIN` is a left join here, which Postgres would make by comparing each row with each.
# `OFFSET 0` keeps Postgres from reading the saved debates a second time.


def commit(engine: Engine, changes: Sequence[Change]) -> list[Outcome]:
    """Workers' changes of different debates; returns their outcomes in order. Raises TurnExists where a single
    change meets a turn of its round and seat."""
    if len({change.after.id for change in changes}) < len(changes):
        raise ValueError("two changes of one debate in one statement")
    with engine.autocommit() as connection:
        try:
            given = {"changes": _json(changes), "count": len(changes)}
            rows = {row.id: row for row in _CHANGE.run(connection, given, namedtuple_row)}
        except psycopg.errors.UniqueViolation as conflict:
            raise _turn_exists(conflict) from conflict
    return [_outcome(change, rows[change.after.id]) for change in changes]


def save(connection: Connection, change: Change) -> Outcome:
    """A change from outside, in a transaction that has locked the row."""
    if change.claim is not None:
        raise ValueError("a worker's change is committed by itself")
    try:
        [row] = connection.exec_driver_sql(_CHANGE.sql, {"changes": _json([change]), "count": 1})
    except IntegrityError as conflict:
        if isinstance(conflict.orig, psycopg.errors.UniqueViolation):
            raise _turn_exists(conflict.orig) from conflict
        raise
    return _outcome(change, row)


def _turn_exists(conflict: psycopg.errors.UniqueViolation) -> Exception:
    is_turn = conflict.diag.constraint_name in KEYS_OF_ONE_TURN
    return TurnExists("a turn of that place is stored") if is_turn else conflict


def _outcome(change: Change, row: Any) -> Outcome:
    result, status = Result(row.result), Status(row.status) if row.status else None
    if result not in (Result.STORED, Result.ALREADY_STORED):
        return Outcome(result, change.after, status=status)
    usage = Usage(row.input_tokens, row.output_tokens, row.cost_usd)
    now = status if result is Result.STORED and status else change.after.status
    after = change.after.evolve(updated_at=row.updated_at, usage=usage, waiting_until=row.waiting_until, status=now)
    return Outcome(
        result,
        after,
        tuple(turn.evolve(created_at=row.at) for turn in change.turns),
        has_next_claim=isinstance(change.schedule, ClaimToken) and row.has_next_claim,
        ended_claim=row.ended_claim,
    )


def _json(changes: Sequence[Change]) -> str:
    return to_json([_without_nulls(_row(change)) for change in changes]).decode()


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    """A column that is not given is NULL. Most are, and Postgres would sort and look up each of their names."""
    return {name: value for name, value in row.items() if value is not None}


def _row(change: Change) -> dict[str, Any]:
    schedule, claim = change.schedule, change.claim
    return {
        **debate_row(change.after),
        "debate_id": change.after.id,
        "token": claim.token if claim else None,
        "worker_id": claim.worker_id if claim else None,
        "past_deadline": change.after.past_deadline,
        "turns": [_without_nulls(turn_row(turn)) for turn in change.turns],
        "first_turn_id": change.turns[0].id if change.turns else None,
        "exchanges": exchanges.rows_of(change.exchanges) or None,
        "input_tokens": change.used.input_tokens,
        "output_tokens": change.used.output_tokens,
        "cost_usd": change.used.cost_usd,
        "is_activity": change.is_activity,
        "schedule": _schedule(change.after, schedule),
        "keeps_claim": schedule is PlainSchedule.KEEP_CLAIM,
        "next_token": schedule.token if isinstance(schedule, ClaimToken) else None,
        "delay_seconds": stored_delay(schedule.delay_seconds) if isinstance(schedule, Later) else None,
        "event": change.event,
        "answer_seconds": change.after.answer_seconds,
    }


def _schedule(after: Debate, schedule: Schedule) -> str:
    if isinstance(schedule, ClaimToken):
        return "claimed"
    if isinstance(schedule, Later):
        return "later"
    return "due" if after.awaits_worker else "over" if after.is_closed else "waiting"
