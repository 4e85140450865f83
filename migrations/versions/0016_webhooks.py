"""Webhooks and their outbox.

Triggers write the outbox: so every event is written in the transaction that made it true, whoever made it, with no
round trip, and without webhooks a turn costs the comparison in the trigger's condition and nothing else.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0016"
down_revision = "0015"

_TELL = """
CREATE FUNCTION tell_webhooks(told_event text, told_of uuid, told jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO webhook_deliveries (id, webhook_id, debate_id, event, data, due_at)
    SELECT gen_random_uuid(), webhooks.id, told_of, told_event, told, clock_timestamp()
    FROM webhooks WHERE disabled_at IS NULL AND told_event = ANY(webhooks.events)
$$
"""
# A person rules on an intervention, whoever sits there and wherever the cursor stands.
_SEAT = (
    "CASE WHEN NEW.intervention_open THEN 'arbitrator' WHEN NEW.next_actor = 'debater_a' THEN 'proposer'"
    " WHEN NEW.next_actor = 'debater_b' THEN 'opponent' ELSE 'arbitrator' END"
)
_OUTSIDE = (
    "(NEW.status = 'running' OR NEW.status = 'created' AND NOT NEW.waits_for_start)"
    f" AND (NEW.intervention_open OR NEW.seats -> ({_SEAT}) ->> 'player' = 'external')"
)
_OF_DEBATES = f"""
CREATE FUNCTION tell_webhooks_of_debate() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    told jsonb;
    was_held_back boolean := CASE WHEN TG_OP = 'UPDATE' THEN OLD.status = 'created' AND OLD.waits_for_start END;
    before text := CASE WHEN TG_OP = 'UPDATE' THEN OLD.status END;
    turns_before integer := CASE WHEN TG_OP = 'UPDATE' THEN OLD.turn_count ELSE 0 END;
BEGIN
    IF NOT EXISTS (SELECT FROM webhooks WHERE disabled_at IS NULL) THEN
        RETURN NULL;
    END IF;
    told := jsonb_build_object(
        'debate_id', NEW.id, 'title', NEW.title, 'format', NEW.format, 'status', NEW.status,
        'stop_reason', NEW.stop_reason, 'last_error', NEW.last_error,
        'verdict', CASE WHEN NEW.verdict_scope = 'debate' THEN NEW.verdict || jsonb_build_object(
            'scope', NEW.verdict_scope, 'confidence', NEW.verdict_confidence) END,
        'argument_count', NEW.turn_count, 'next_round', NEW.next_round, 'next_actor', NEW.next_actor);
    IF before = 'created' AND NEW.status IN ('running', 'completed', 'failed')
       -- Paused before it began. One that was paused in its first turn is said to start again.
       OR before = 'paused' AND NEW.status = 'running' AND NEW.turn_count = 1 THEN
        PERFORM tell_webhooks('debate.started', NEW.id, told);
    END IF;
    IF before IS DISTINCT FROM NEW.status AND NEW.status IN ('completed', 'stopped', 'failed') THEN
        PERFORM tell_webhooks('debate.' || NEW.status, NEW.id, told);
    END IF;
    IF {_OUTSIDE} AND (turns_before <> NEW.turn_count OR before IN ('paused', 'failed') OR was_held_back) THEN
        PERFORM tell_webhooks('seat.waiting', NEW.id, told || jsonb_build_object(
            'role', {_SEAT}, 'waiting_until',
            to_char(NEW.waiting_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
    END IF;
    RETURN NULL;
END $$
"""  # noqa: S608 (only constants are put in)
_ON_DEBATES = (
    "CREATE TRIGGER debates_tell_webhooks AFTER UPDATE ON debates FOR EACH ROW"
    f" WHEN (OLD.status <> NEW.status OR (OLD.turn_count <> NEW.turn_count AND {_OUTSIDE}))"
    " EXECUTE FUNCTION tell_webhooks_of_debate()",
    f"CREATE TRIGGER debates_tell_webhooks_first AFTER INSERT ON debates FOR EACH ROW WHEN ({_OUTSIDE})"
    " EXECUTE FUNCTION tell_webhooks_of_debate()",
)
_OF_CONTRIBUTIONS = """
CREATE FUNCTION tell_webhooks_of_contribution() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tell_webhooks('contribution.flagged', NULL, jsonb_build_object(
        'contribution_id', NEW.id, 'solution_id', NEW.solution_id, 'agent_id', NEW.agent_id));
    RETURN NULL;
END $$
"""
_OF_JUDGMENTS = """
CREATE FUNCTION tell_webhooks_of_judgment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tell_webhooks('judgment.completed', NEW.debate_id, jsonb_build_object(
        'judgment_id', NEW.id, 'debate_id', NEW.debate_id, 'judge', NEW.judge, 'verdict', NEW.verdict));
    RETURN NULL;
END $$
"""
_OF_EXPERIMENTS = """
CREATE FUNCTION tell_webhooks_of_experiment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tell_webhooks('experiment.completed', NULL, jsonb_build_object(
        'experiment_id', NEW.id, 'name', NEW.name, 'status', NEW.status));
    RETURN NULL;
END $$
"""
_ON_OTHERS = (
    "CREATE TRIGGER experiments_tell_webhooks AFTER UPDATE OF status ON experiments FOR EACH ROW"
    " WHEN (NEW.status = 'completed' AND OLD.status <> 'completed') EXECUTE FUNCTION tell_webhooks_of_experiment()",
    "CREATE TRIGGER contributions_tell_webhooks AFTER UPDATE OF guardrail_status ON contributions FOR EACH ROW"
    " WHEN (NEW.guardrail_status = 'flagged' AND OLD.guardrail_status <> 'flagged')"
    " EXECUTE FUNCTION tell_webhooks_of_contribution()",
    "CREATE TRIGGER judgments_tell_webhooks AFTER UPDATE OF status ON judgments FOR EACH ROW"
    " WHEN (NEW.status = 'completed' AND OLD.status <> 'completed') EXECUTE FUNCTION tell_webhooks_of_judgment()",
    "CREATE TRIGGER judgments_tell_webhooks_first AFTER INSERT ON judgments FOR EACH ROW"
    " WHEN (NEW.status = 'completed') EXECUTE FUNCTION tell_webhooks_of_judgment()",
)


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", ARRAY(sa.Text), nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
        sa.Column("disabled_at", sa.DateTime(timezone=True)),
        sa.Column("disabled_reason", sa.Text),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("number", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("webhook_id", sa.Uuid, sa.ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
        sa.Column("debate_id", sa.Uuid),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("data", JSONB, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("delivered_at", sa.DateTime(timezone=True)),
        sa.Column("last_status", sa.Integer),
        sa.Column("last_error", sa.Text),
    )
    op.create_index(
        "webhook_deliveries_due",
        "webhook_deliveries",
        ["webhook_id", "debate_id", "number"],
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_index("webhook_deliveries_by_number", "webhook_deliveries", ["webhook_id", "number"])
    for statement in (_TELL, _OF_DEBATES, *_ON_DEBATES, _OF_CONTRIBUTIONS, _OF_JUDGMENTS, _OF_EXPERIMENTS, *_ON_OTHERS):
        op.execute(statement)


def downgrade() -> None:
    for table in ("debates", "judgments"):
        op.execute(f"DROP TRIGGER {table}_tell_webhooks ON {table}")
        op.execute(f"DROP TRIGGER {table}_tell_webhooks_first ON {table}")
    op.execute("DROP TRIGGER contributions_tell_webhooks ON contributions")
    op.execute("DROP TRIGGER experiments_tell_webhooks ON experiments")
    for name in ("_of_debate()", "_of_contribution()", "_of_judgment()", "_of_experiment()", "(text, uuid, jsonb)"):
        op.execute(f"DROP FUNCTION tell_webhooks{name}")
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
