"""Experiments: their motions, their plan, and what their calls may cost."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0014"
down_revision = "0013"

_timestamp = sa.DateTime(timezone=True)
_now = sa.text("clock_timestamp()")
_zero = sa.text("0")


def _experiment(**options: bool) -> "sa.Column[object]":
    return sa.Column("experiment_id", sa.Uuid, sa.ForeignKey("experiments.id", ondelete="CASCADE"), **options)  # type: ignore[arg-type]


def upgrade() -> None:
    op.create_table(
        "experiments",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False, server_default="draft"),
        sa.Column("stop_reason", sa.Text),
        sa.Column("spec", JSONB, nullable=False),
        sa.Column("arbitrator", JSONB, nullable=False),
        sa.Column("budget_usd", sa.Double),
        sa.Column("concurrency", sa.Integer, nullable=False),
        sa.Column("reserved_usd", sa.Double, nullable=False, server_default=_zero),
        sa.Column("spent_usd", sa.Double, nullable=False, server_default=_zero),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("started_at", _timestamp),
        sa.Column("created_at", _timestamp, nullable=False, server_default=_now),
        sa.Column("updated_at", _timestamp, nullable=False, server_default=_now),
        sa.UniqueConstraint("created_by", "name", name="experiments_one_per_name"),
        sa.CheckConstraint(
            "status IN ('draft', 'running', 'paused', 'completed', 'stopped')", name="experiments_status_known"
        ),
        sa.CheckConstraint("(status = 'stopped') = (stop_reason IS NOT NULL)", name="experiments_stopped_has_reason"),
    )
    op.create_index("experiments_by_update", "experiments", [sa.text("updated_at DESC"), "id"])
    op.create_index(
        "experiments_at_work", "experiments", ["id"], postgresql_where=sa.text("status IN ('running', 'paused')")
    )
    op.create_table(
        "motions",
        _experiment(primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("motion", sa.Text, nullable=False),
        sa.Column("title", sa.Text),
        sa.Column("document", sa.Text),
        sa.Column("answer_a", sa.Text),
        sa.Column("answer_b", sa.Text),
        sa.Column("correct", sa.Text),
        sa.Column("tags", JSONB, nullable=False, server_default=sa.text("'[]'")),
        sa.CheckConstraint("correct IN ('a', 'b')", name="motions_correct_known"),
    )
    op.create_table(
        "matches",
        _experiment(primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("arm", sa.Text, nullable=False),
        sa.Column("motion_id", sa.Text, nullable=False),
        sa.Column("proposer", sa.Text),
        sa.Column("opponent", sa.Text),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("answer", sa.Text, nullable=False, server_default="a"),
        sa.Column("status", sa.Text, nullable=False, server_default="planned"),
        sa.Column("reason", sa.Text),
        sa.Column("attempt", sa.Integer, nullable=False, server_default=_zero),
        sa.Column("debate_id", sa.Uuid),
        sa.CheckConstraint("status IN ('planned', 'running', 'completed', 'failed')", name="matches_status_known"),
        sa.CheckConstraint("status = 'planned' OR debate_id IS NOT NULL", name="matches_held_have_a_debate"),
    )
    op.create_index("matches_by_position", "matches", ["experiment_id", "status", "position"])
    op.create_index(
        "matches_by_debate",
        "matches",
        ["debate_id"],
        unique=True,
        postgresql_where=sa.text("debate_id IS NOT NULL"),
    )
    op.create_table(
        "reservations",
        sa.Column("id", sa.Uuid, primary_key=True),
        _experiment(nullable=False),
        sa.Column("worker_id", sa.Text, nullable=False),
        sa.Column("amount_usd", sa.Double, nullable=False),
    )
    op.create_index("reservations_by_worker", "reservations", ["worker_id"])


def downgrade() -> None:
    for table in ("reservations", "matches", "motions", "experiments"):
        op.drop_table(table)
