"""Calls of models that are under way: what a killed worker was asking is charged exactly."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_timestamp = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "model_calls",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("claim", sa.Uuid, nullable=False),
        sa.Column("worker_id", sa.Text, nullable=False),
        sa.Column("debate_id", sa.Uuid),
        sa.Column("judgment_id", sa.Uuid),
        sa.Column("input_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Double, nullable=False),
        sa.Column("begun_at", _timestamp, nullable=False, server_default=sa.func.clock_timestamp()),
        sa.Column("charged_at", _timestamp),
        sa.CheckConstraint("(debate_id IS NULL) <> (judgment_id IS NULL)", name="model_calls_one_pays"),
    )
    op.create_index("model_calls_by_claim", "model_calls", ["claim"])


def downgrade() -> None:
    op.drop_table("model_calls")
