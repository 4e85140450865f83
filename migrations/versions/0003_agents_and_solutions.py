"""Agents and their keys, who spoke each turn, and solutions discussed behind a guardrail."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0003"
down_revision = "0002"

_timestamp = sa.DateTime(timezone=True)
_clock = sa.func.clock_timestamp()


def upgrade() -> None:
    op.create_table(
        "agents",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("username", sa.Text, nullable=False),
        sa.Column("display_name", sa.Text),
        sa.Column("key_hash", sa.LargeBinary, nullable=False),
        sa.Column("key_hint", sa.Text, nullable=False),
        sa.Column("scopes", ARRAY(sa.Text), nullable=False),
        sa.Column("created_at", _timestamp, nullable=False, server_default=_clock),
        sa.Column("key_created_at", _timestamp, nullable=False, server_default=_clock),
        sa.Column("revoked_at", _timestamp),
        sa.UniqueConstraint("key_hash", name="agents_one_per_key"),
        sa.CheckConstraint("scopes <@ ARRAY['read', 'debate', 'arbitrate']", name="agents_scopes_known"),
    )
    op.create_index("agents_one_per_username", "agents", [sa.text("lower(username)")], unique=True)
    _who_spoke()
    _solutions()
    _contributions()
    _evaluations()


def _who_spoke() -> None:
    op.add_column("turns", sa.Column("agent_id", sa.Uuid, sa.ForeignKey("agents.id")))
    op.add_column("turns", sa.Column("agent_username", sa.Text))
    op.create_check_constraint("turns_agent_has_a_name", "turns", "(agent_id IS NULL) = (agent_username IS NULL)")


def _solutions() -> None:
    op.create_table(
        "solutions",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("agent_id", sa.Uuid, sa.ForeignKey("agents.id"), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False, server_default=sa.text("'proposed'")),
        sa.Column("agent_debate_count", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("created_at", _timestamp, nullable=False, server_default=_clock),
        sa.CheckConstraint("status IN ('proposed', 'debating')", name="solutions_status_known"),
        sa.CheckConstraint("(status = 'proposed') = (agent_debate_count = 0)", name="solutions_debating_when_debated"),
    )
    op.create_index("solutions_by_age", "solutions", [sa.text("created_at DESC"), sa.text("id DESC")])


def _contributions() -> None:
    op.create_table(
        "contributions",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("solution_id", sa.Uuid, sa.ForeignKey("solutions.id"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("agent_id", sa.Uuid, sa.ForeignKey("agents.id"), nullable=False),
        sa.Column("parent_id", sa.Uuid, sa.ForeignKey("contributions.id")),
        sa.Column("depth", sa.SmallInteger, nullable=False),
        sa.Column("stance", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("evidence_links", JSONB, nullable=False),
        sa.Column("guardrail_status", sa.Text, nullable=False, server_default=sa.text("'pending'")),
        sa.Column("upvotes", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("created_at", _timestamp, nullable=False, server_default=_clock),
        sa.UniqueConstraint("solution_id", "position", name="contributions_one_per_position"),
        sa.CheckConstraint("depth BETWEEN 1 AND 5", name="contributions_depth_bounded"),
        sa.CheckConstraint("(depth = 1) = (parent_id IS NULL)", name="contributions_only_roots_lack_a_parent"),
        sa.CheckConstraint("stance IN ('support', 'oppose', 'modify', 'question')", name="contributions_stance_known"),
        sa.CheckConstraint(
            "guardrail_status IN ('pending', 'approved', 'rejected', 'flagged')", name="contributions_status_known"
        ),
    )
    op.create_table(
        "upvotes",
        sa.Column("contribution_id", sa.Uuid, sa.ForeignKey("contributions.id"), primary_key=True),
        sa.Column("agent_id", sa.Uuid, sa.ForeignKey("agents.id"), primary_key=True),
    )


def _evaluations() -> None:
    op.create_table(
        "guardrail_evaluations",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("contribution_id", sa.Uuid, sa.ForeignKey("contributions.id"), nullable=False),
        sa.Column("verdict", sa.Text),
        sa.Column("reasons", JSONB, nullable=False, server_default=sa.text("'[]'")),
        sa.Column("evaluator", sa.Text),
        sa.Column("evaluated_at", _timestamp),
        sa.Column("decision", sa.Text),
        sa.Column("decided_by", sa.Text),
        sa.Column("decision_reason", sa.Text),
        sa.Column("decided_at", _timestamp),
        sa.Column("claim_token", sa.Uuid),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("due_at", _timestamp, server_default=_clock),
        sa.Column("queued_at", _timestamp, server_default=_clock),
        sa.Column("created_at", _timestamp, nullable=False, server_default=_clock),
        sa.UniqueConstraint("contribution_id", name="guardrail_evaluations_one_per_contribution"),
        sa.CheckConstraint(
            "verdict IN ('approved', 'rejected', 'flagged')", name="guardrail_evaluations_verdict_known"
        ),
        sa.CheckConstraint("decision IN ('approved', 'rejected')", name="guardrail_evaluations_decision_known"),
        sa.CheckConstraint(
            "verdict IS NULL OR (evaluator IS NOT NULL AND evaluated_at IS NOT NULL AND due_at IS NULL)",
            name="guardrail_evaluations_verdict_is_whole",
        ),
        sa.CheckConstraint(
            "(decision IS NULL) = (decided_by IS NULL) AND (decision IS NULL) = (decision_reason IS NULL)",
            name="guardrail_evaluations_decision_is_whole",
        ),
    )
    op.create_index(
        "guardrail_evaluations_due",
        "guardrail_evaluations",
        ["due_at"],
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_index(
        "guardrail_evaluations_flagged",
        "guardrail_evaluations",
        ["created_at", "id"],
        postgresql_where=sa.text("verdict = 'flagged' AND decision IS NULL"),
    )


def downgrade() -> None:
    for table in ("guardrail_evaluations", "upvotes", "contributions", "solutions"):
        op.drop_table(table)
    op.drop_column("turns", "agent_username")
    op.drop_column("turns", "agent_id")
    op.drop_table("agents")
