"""Slots of the providers of models, and what a day has cost."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_timestamp = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "providers",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("lowered_to", sa.Integer),
        sa.Column("lowered_at", _timestamp),
    )
    op.create_table(
        "provider_slots",
        sa.Column("provider", sa.Text, primary_key=True),
        sa.Column("worker_id", sa.Text, primary_key=True),
        sa.Column("held", sa.Integer, nullable=False),
        sa.Column("wanted", sa.Integer, nullable=False),
        sa.Column("expires_at", _timestamp, nullable=False),
    )
    op.create_table(
        "daily_costs",
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("reserved_usd", sa.Double, nullable=False, server_default=sa.text("0")),
        sa.Column("spent_usd", sa.Double, nullable=False, server_default=sa.text("0")),
    )


def downgrade() -> None:
    op.drop_table("daily_costs")
    op.drop_table("provider_slots")
    op.drop_table("providers")
