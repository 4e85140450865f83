"""Judgments, apart from debates, and the experiment that a debate belongs to."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0013"
down_revision = "0012"

PATIENCE = "2min"
"""Building beside running work waits for transactions that began before it, and blocks nobody meanwhile."""
_timestamp = sa.DateTime(timezone=True)
_now = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.add_column("debates", sa.Column("experiment_id", sa.Uuid), if_not_exists=True)
    op.create_table(
        "judgments",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("debate_id", sa.Uuid, sa.ForeignKey("debates.id", ondelete="CASCADE"), nullable=False),
        sa.Column("judge", sa.Text, nullable=False),
        sa.Column("order", sa.Text, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("setup", JSONB, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("verdict", JSONB),
        sa.Column("error", sa.Text),
        sa.Column("input_tokens", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("output_tokens", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("cost_usd", sa.Double, nullable=False, server_default=sa.text("0")),
        sa.Column("latency_ms", sa.Integer),
        sa.Column("experiment_id", sa.Uuid),
        sa.Column("share", sa.Text, nullable=False, server_default=""),
        sa.Column("claim_token", sa.Uuid),
        sa.Column("claimed_by", sa.Text),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("due_at", _timestamp),
        sa.Column("created_at", _timestamp, nullable=False, server_default=_now),
        sa.Column("judged_at", _timestamp),
        sa.UniqueConstraint("debate_id", "judge", "order", "repeat", name="judgments_one_per_key"),
        sa.CheckConstraint("\"order\" IN ('as_spoken', 'swapped')", name="judgments_order_known"),
        sa.CheckConstraint("repeat >= 1", name="judgments_repeat_positive"),
        sa.CheckConstraint("status IN ('planned', 'completed', 'failed')", name="judgments_status_known"),
        sa.CheckConstraint(
            "(status = 'completed') = (verdict IS NOT NULL) AND (status = 'planned' OR due_at IS NULL)",
            name="judgments_verdict_is_whole",
        ),
        if_not_exists=True,
    )
    op.create_index(
        "judgments_due",
        "judgments",
        [sa.text("(experiment_id IS NOT NULL)"), "due_at"],
        postgresql_where=sa.text("due_at IS NOT NULL"),
        if_not_exists=True,
    )
    op.create_index(
        "judgments_of_experiment",
        "judgments",
        ["experiment_id", "status", "id"],
        postgresql_where=sa.text("experiment_id IS NOT NULL"),
        if_not_exists=True,
    )
    with op.get_context().autocommit_block():
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        op.drop_index("debates_of_experiment", "debates", if_exists=True, postgresql_concurrently=True)
        op.create_index(
            "debates_of_experiment",
            "debates",
            ["experiment_id", sa.text("updated_at DESC"), "id"],
            postgresql_where=sa.text("experiment_id IS NOT NULL"),
            postgresql_concurrently=True,
        )


def downgrade() -> None:
    op.drop_index("debates_of_experiment", "debates")
    op.drop_table("judgments")
    op.drop_column("debates", "experiment_id")
