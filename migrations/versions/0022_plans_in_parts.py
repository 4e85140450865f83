"""The plan of an experiment is written in parts, by whichever process has claimed it."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("experiments", sa.Column("planning", sa.Uuid))
    op.add_column("experiments", sa.Column("planner_until", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("experiments", "planner_until")
    op.drop_column("experiments", "planning")
