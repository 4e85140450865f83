"""Cursors recomputed from turns, for all debates in one query.

The same rule as `implied_cursor` in the core, written in SQL; a test holds the two together.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, text


@dataclass(frozen=True, slots=True)
class Repaired:
    debate_id: UUID
    title: str
    was: str
    now: str


_REPAIR = text("""
WITH placed AS (
    SELECT DISTINCT ON (debate_id) debate_id, seq, round, actor, type
    FROM turns WHERE round IS NOT NULL
    ORDER BY debate_id, seq DESC
), counted AS (
    SELECT debate_id, max(seq) AS last_seq,
           max(seq) FILTER (WHERE type = 'INTERVENTION') AS last_intervention
    FROM turns GROUP BY debate_id
), followed AS (
    SELECT d.id, d.status, counted.last_seq,
           coalesce(counted.last_intervention > placed.seq, false) AS interrupted,
           CASE
               WHEN placed.type = 'MOTION' THEN 1
               WHEN placed.actor = 'judge' THEN placed.round + 1
               WHEN placed.actor = 'debater_b' AND d.format = 'dialogue' THEN placed.round + 1
               ELSE placed.round
           END AS round,
           CASE
               WHEN placed.type = 'MOTION' THEN CASE d.format WHEN 'dialogue' THEN 'debater_b' ELSE 'debater_a' END
               WHEN placed.actor = 'judge' THEN 'debater_a'
               WHEN placed.type IN ('APPEAL', 'RESOLUTION') THEN 'judge'
               WHEN placed.actor = 'debater_a' THEN 'debater_b'
               WHEN d.format = 'dialogue' THEN 'debater_a'
               ELSE 'judge'
           END AS actor
    FROM debates d JOIN placed ON placed.debate_id = d.id JOIN counted ON counted.debate_id = d.id
), implied AS (
    SELECT id, last_seq, round,
           CASE WHEN interrupted THEN 'judge' ELSE actor END AS actor,
           interrupted AND status NOT IN ('completed', 'stopped') AS open
    FROM followed
), old AS (
    SELECT d.id, d.title, d.next_round, d.next_actor, d.intervention_open, d.turn_count
    FROM debates d JOIN implied i ON i.id = d.id
    WHERE (d.next_round, d.next_actor, d.intervention_open, d.turn_count)
          IS DISTINCT FROM (i.round, i.actor, i.open, i.last_seq)
    FOR UPDATE OF d
)
UPDATE debates d
SET next_round = i.round, next_actor = i.actor, intervention_open = i.open, turn_count = i.last_seq,
    -- Whoever thinks about the old cursor is told off; a worker looks at the debate and settles the rest.
    claim_token = NULL, claimed_by = NULL, claim_expires_at = NULL, queued_at = NULL,
    due_at = CASE WHEN d.status IN ('created', 'running') THEN clock_timestamp() END,
    updated_at = clock_timestamp()
FROM implied i JOIN old ON old.id = i.id
WHERE d.id = i.id
RETURNING d.id, d.title,
    format('round %s, %s, %s turns', old.next_round, old.next_actor, old.turn_count)
        || CASE WHEN old.intervention_open THEN ', intervention open' ELSE '' END AS was,
    format('round %s, %s, %s turns', i.round, i.actor, i.last_seq)
        || CASE WHEN i.open THEN ', intervention open' ELSE '' END AS now
""")


def repair_cursors(connection: Connection) -> list[Repaired]:
    return [Repaired(*row) for row in connection.execute(_REPAIR)]
