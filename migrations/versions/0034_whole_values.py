"""Verdicts and usages have all their keys in their JSON, and what nothing reads is dropped.

Processes from before this revision read what it drops: end them first (docs/upgrading.md).
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"

LOCK_TIMEOUT = "5s"
PATIENCE = "2min"
"""Building beside running work waits for transactions that began before it, and blocks nobody meanwhile."""
BATCH = 10_000
"""Rows in one transaction."""

# A debate's verdict without a scope was that of its last round, which its turn has too.
_VERDICTS_OF_DEBATES = """
verdict = CASE verdict_scope WHEN 'debate' THEN verdict || jsonb_build_object('scope', 'debate')
          || jsonb_strip_nulls(jsonb_build_object('confidence', verdict_confidence)) END
FROM batch WHERE debates.id = batch.id AND verdict IS NOT NULL AND NOT verdict ? 'scope'
"""
_VERDICTS_OF_TURNS = """
verdict = verdict || jsonb_build_object('scope', coalesce(verdict_scope, 'round'))
          || jsonb_strip_nulls(jsonb_build_object('confidence', verdict_confidence)),
usage = CASE WHEN context_shortened THEN usage || jsonb_build_object('context_shortened', true) ELSE usage END
FROM batch WHERE turns.id = batch.id AND (verdict IS NOT NULL AND NOT verdict ? 'scope' OR context_shortened)
"""
_CONVERT = """
WITH batch AS MATERIALIZED (
    SELECT id FROM {table} WHERE id > :last ORDER BY id LIMIT :batch
), changed AS (
    UPDATE {table} SET {change}
)
SELECT id FROM batch ORDER BY id DESC LIMIT 1
"""
_TELL = """
CREATE OR REPLACE FUNCTION tell_webhooks_of_debate() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    told jsonb;
    was_held_back boolean := CASE WHEN TG_OP = 'UPDATE' THEN OLD.status = 'created' AND OLD.waits_for_start END;
    before text := CASE WHEN TG_OP = 'UPDATE' THEN OLD.status END;
    turns_before integer := CASE WHEN TG_OP = 'UPDATE' THEN OLD.turn_count ELSE 0 END;
    -- A person rules on an intervention, whoever sits there and wherever the cursor stands.
    seat text := CASE WHEN NEW.intervention_open THEN 'arbitrator' WHEN NEW.next_actor = 'debater_a' THEN 'proposer'
        WHEN NEW.next_actor = 'debater_b' THEN 'opponent' ELSE 'arbitrator' END;
BEGIN
    IF NOT EXISTS (SELECT FROM webhooks WHERE disabled_at IS NULL) THEN
        RETURN NULL;
    END IF;
    told := jsonb_build_object(
        'debate_id', NEW.id, 'title', NEW.title, 'format', NEW.format, 'status', NEW.status,
        'stop_reason', NEW.stop_reason, 'last_error', NEW.last_error,
        'verdict', '{"confidence": null}' || NEW.verdict,
        'argument_count', NEW.turn_count, 'next_round', NEW.next_round, 'next_actor', NEW.next_actor);
    IF before = 'created' AND NEW.status IN ('running', 'completed', 'failed')
       -- Paused before it began. One that was paused in its first turn is said to start again.
       OR before = 'paused' AND NEW.status = 'running' AND NEW.turn_count = 1 THEN
        PERFORM tell_webhooks('debate.started', NEW.id, told);
    END IF;
    IF before IS DISTINCT FROM NEW.status AND NEW.status IN ('completed', 'stopped', 'failed') THEN
        PERFORM tell_webhooks('debate.' || NEW.status, NEW.id, told);
    END IF;
    IF (NEW.status = 'running' OR NEW.status = 'created' AND NOT NEW.waits_for_start)
       AND (NEW.intervention_open OR NEW.seats -> seat ->> 'player' = 'external')
       AND (turns_before <> NEW.turn_count OR before IN ('paused', 'failed') OR was_held_back) THEN
        PERFORM tell_webhooks('seat.waiting', NEW.id, told || jsonb_build_object(
            'role', seat, 'waiting_until',
            to_char(NEW.waiting_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
    END IF;
    RETURN NULL;
END $$
"""
_DROP = """
DROP TABLE workers;
ALTER TABLE debates
    DROP COLUMN claim_expires_at, DROP COLUMN queued_at, DROP COLUMN verdict_scope, DROP COLUMN verdict_confidence;
ALTER TABLE turns DROP COLUMN verdict_scope, DROP COLUMN verdict_confidence, DROP COLUMN context_shortened;
ALTER TABLE guardrail_evaluations DROP COLUMN queued_at;
ALTER TABLE matches DROP COLUMN attempt;
"""
# A claim lives by its lease: the index of due rows finds a claimed row for its release, and no claim reads it.
_KEEP_CLAIMS = """
UPDATE debates SET due_at = 'infinity' WHERE due_at IS NOT NULL AND claim_token IS NOT NULL;
UPDATE judgments SET due_at = 'infinity' WHERE due_at IS NOT NULL AND claim_token IS NOT NULL;
UPDATE guardrail_evaluations SET due_at = 'infinity' WHERE due_at IS NOT NULL AND claim_token IS NOT NULL;
"""


def upgrade() -> None:
    """An attempt that was cut off is taken up again."""
    with op.get_context().autocommit_block():
        _convert("debates", _VERDICTS_OF_DEBATES)
        _convert("turns", _VERDICTS_OF_TURNS)
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        op.drop_index("debates_by_winner", "debates", if_exists=True, postgresql_concurrently=True)
        op.create_index(
            "debates_by_winner",
            "debates",
            [sa.text("(verdict ->> 'winner')"), sa.text("updated_at DESC"), "id"],
            postgresql_where=sa.text("verdict IS NOT NULL"),
            postgresql_concurrently=True,
        )
        op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(_TELL)
    op.execute(_DROP)
    op.execute(_KEEP_CLAIMS)


def _convert(table: str, change: str) -> None:
    last: str | None = "00000000-0000-0000-0000-000000000000"
    while last:
        statement = _CONVERT.format(table=table, change=change)
        last = op.get_bind().execute(sa.text(statement), {"last": last, "batch": BATCH}).scalar()
