"""Recomputes the cursors of all debates from their turns, in one query.

The same rule as `implied_cursor` in app.core.machine, in SQL; a test compares the two.
"""

import json
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, text

from app.core.formats import Format, JudgeActs
from app.core.machine import first_cursor
from app.core.seats import Seat


@dataclass(frozen=True, slots=True)
class CursorRepair:
    debate_id: UUID
    title: str
    was: str
    now: str


_REPAIR = text("""
WITH facts AS (
    SELECT * FROM jsonb_to_recordset(CAST(:facts AS jsonb)) AS facts (
        format text, first_actor text, round_starts_with text, last_debater text, judge_every_round boolean,
        judge_at_the_end boolean
    )
), placed AS (
    SELECT DISTINCT ON (debate_id) debate_id, seq, round, actor, type
    FROM turns WHERE round IS NOT NULL
    ORDER BY debate_id, seq DESC
), counted AS (
    SELECT debate_id, max(seq) AS last_seq,
           max(seq) FILTER (WHERE type = 'INTERVENTION') AS last_intervention,
           max(seq) FILTER (WHERE type = 'RULING') AS last_ruling
    FROM turns GROUP BY debate_id
), followed AS (
    SELECT d.id, d.status, d.closing, counted.last_seq,
           coalesce(counted.last_intervention > greatest(placed.seq, counted.last_ruling), false) AS interrupted,
           CASE
               WHEN placed.type = 'MOTION' THEN 1
               WHEN placed.actor = 'judge' THEN placed.round + 1
               WHEN placed.type IN ('APPEAL', 'RESOLUTION') OR placed.actor <> facts.last_debater THEN placed.round
               WHEN facts.judge_every_round THEN placed.round
               WHEN facts.judge_at_the_end AND placed.round >= (d.limits ->> 'max_rounds')::integer THEN placed.round
               ELSE placed.round + 1
           END AS round,
           CASE
               WHEN placed.type = 'MOTION' THEN facts.first_actor
               WHEN placed.actor = 'judge' THEN facts.round_starts_with
               WHEN placed.type IN ('APPEAL', 'RESOLUTION') THEN 'judge'
               WHEN placed.actor <> facts.last_debater THEN facts.last_debater
               WHEN facts.judge_every_round THEN 'judge'
               WHEN facts.judge_at_the_end AND placed.round >= (d.limits ->> 'max_rounds')::integer THEN 'judge'
               ELSE facts.round_starts_with
           END AS actor
    FROM debates d
    JOIN facts ON facts.format = d.format
    JOIN placed ON placed.debate_id = d.id JOIN counted ON counted.debate_id = d.id
), implied AS (
    SELECT id, last_seq, round,
           CASE WHEN interrupted OR is_closing THEN 'judge' ELSE actor END AS actor,
           interrupted AND is_open AND NOT is_closing AS open,
           CASE WHEN interrupted AND is_open AND NOT is_closing THEN actor END AS interrupted_actor
    FROM followed CROSS JOIN LATERAL (
        SELECT status NOT IN ('completed', 'stopped') AS is_open,
               closing IS NOT NULL AS is_closing
    ) AS known
), old AS (
    SELECT d.id, d.title, d.next_round, d.next_actor, d.intervention_open, d.turn_count
    FROM debates d JOIN implied i ON i.id = d.id
    WHERE (d.next_round, d.next_actor, d.intervention_open, d.interrupted_actor, d.turn_count)
          IS DISTINCT FROM (i.round, i.actor, i.open, i.interrupted_actor, i.last_seq)
    FOR UPDATE OF d
)
UPDATE debates d
SET next_round = i.round, next_actor = i.actor, intervention_open = i.open,
    interrupted_actor = i.interrupted_actor, turn_count = i.last_seq,
    -- Ends the claim on the old cursor; a worker then claims the debate and schedules the rest.
    claim_token = NULL, claimed_by = NULL, claim_expires_at = NULL, queued_at = NULL,
    due_at = CASE WHEN d.status = 'running' OR d.status = 'created' AND NOT d.waits_for_start
                  THEN clock_timestamp() END,
    updated_at = clock_timestamp()
FROM implied i JOIN old ON old.id = i.id
WHERE d.id = i.id
RETURNING d.id, d.title,
    format('round %s, %s, %s turns', old.next_round, old.next_actor, old.turn_count)
        || CASE WHEN old.intervention_open THEN ', intervention open' ELSE '' END AS was,
    format('round %s, %s, %s turns', i.round, i.actor, i.last_seq)
        || CASE WHEN i.open THEN ', intervention open' ELSE '' END AS now
""")


def repair_cursors(connection: Connection) -> list[CursorRepair]:
    facts = json.dumps([_facts_row(form) for form in Format])
    return [CursorRepair(*row) for row in connection.execute(_REPAIR, {"facts": facts})]


def _facts_row(form: Format) -> dict[str, str | bool | None]:
    facts = form.facts
    return {
        "format": form.value,
        "first_actor": first_cursor(form).seat.actor,
        "round_starts_with": facts.debaters[0].actor if facts.debaters else Seat.ARBITRATOR.actor,
        "last_debater": facts.debaters[-1].actor if facts.debaters else None,
        "judge_every_round": facts.judge in (JudgeActs.EVERY_ROUND, JudgeActs.ASKS),
        "judge_at_the_end": facts.judge is JudgeActs.AT_THE_END,
    }
