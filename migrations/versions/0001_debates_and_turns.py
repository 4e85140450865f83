"""Debates, turns, and the workers that are alive."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

_timestamp = sa.DateTime(timezone=True)
_clock = sa.func.clock_timestamp()


def upgrade() -> None:
    op.create_table(
        "debates",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("debate_type", sa.Text, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("next_round", sa.Integer, nullable=False),
        sa.Column("next_actor", sa.Text, nullable=False),
        sa.Column("intervention_open", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("stop_reason", sa.Text),
        sa.Column("stop_note", sa.Text),
        sa.Column("last_error", sa.Text),
        sa.Column("seats", JSONB, nullable=False),
        sa.Column("limits", JSONB, nullable=False),
        sa.Column("turn_count", sa.Integer, nullable=False),
        sa.Column("input_tokens", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("output_tokens", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("cost_usd", sa.Double, nullable=False, server_default=sa.text("0")),
        sa.Column("verdict", JSONB),
        sa.Column("claim_token", sa.Uuid),
        sa.Column("claimed_by", sa.Text),
        sa.Column("claim_expires_at", _timestamp),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("next_attempt_at", _timestamp),
        sa.Column("due_at", _timestamp),
        sa.Column("queued_at", _timestamp),
        sa.Column("deadline_at", _timestamp),
        sa.Column("seconds_left", sa.Double),
        sa.Column("created_at", _timestamp, nullable=False, server_default=_clock),
        sa.Column("updated_at", _timestamp, nullable=False, server_default=_clock),
        sa.CheckConstraint("format IN ('rounds', 'dialogue')", name="debates_format_known"),
        sa.CheckConstraint(
            "status IN ('created', 'running', 'paused', 'completed', 'stopped', 'failed')",
            name="debates_status_known",
        ),
        sa.CheckConstraint("next_actor IN ('debater_a', 'debater_b', 'judge')", name="debates_next_actor_known"),
        sa.CheckConstraint("next_round >= 1", name="debates_next_round_positive"),
        sa.CheckConstraint(
            "(status IN ('completed', 'stopped')) = (stop_reason IS NOT NULL)", name="debates_closed_has_reason"
        ),
    )
    op.create_index("debates_by_update", "debates", [sa.text("updated_at DESC"), "id"])
    op.create_index("debates_by_status_and_update", "debates", ["status", sa.text("updated_at DESC"), "id"])
    op.create_index("debates_due", "debates", ["due_at"], postgresql_where=sa.text("due_at IS NOT NULL"))
    op.create_table(
        "turns",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("debate_id", sa.Uuid, sa.ForeignKey("debates.id", ondelete="CASCADE"), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("round", sa.Integer),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("parent_id", sa.Uuid),
        sa.Column("client_request_id", sa.Text),
        sa.Column("verdict", JSONB),
        sa.Column("player", sa.Text, nullable=False),
        sa.Column("usage", JSONB),
        sa.Column("created_at", _timestamp, nullable=False, server_default=_clock),
        sa.UniqueConstraint("debate_id", "round", "actor", name="turns_one_per_slot"),
        sa.UniqueConstraint("debate_id", "seq", name="turns_one_per_seq"),
        sa.UniqueConstraint("debate_id", "client_request_id", name="turns_one_per_request"),
        sa.CheckConstraint("actor IN ('debater_a', 'debater_b', 'judge')", name="turns_actor_known"),
        sa.CheckConstraint(
            "type IN ('MOTION', 'CLAIM', 'APPEAL', 'RULING', 'INTERVENTION', 'RESOLUTION')", name="turns_type_known"
        ),
        sa.CheckConstraint("(type = 'INTERVENTION') = (round IS NULL)", name="turns_only_interventions_lack_a_round"),
        sa.CheckConstraint("seq >= 1", name="turns_seq_positive"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("seen_at", _timestamp, nullable=False, server_default=_clock),
    )


def downgrade() -> None:
    op.drop_table("workers")
    op.drop_table("turns")
    op.drop_table("debates")
