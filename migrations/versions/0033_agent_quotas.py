"""What each agent's key has stored and spent on a day, and which agent asked for a judgment.

Only adds. Workers of the version before count nothing.
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    op.create_table(
        "agent_quotas",
        sa.Column("agent_id", sa.Uuid, sa.ForeignKey("agents.id"), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("bytes", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("usd", sa.Double, nullable=False, server_default="0"),
        if_not_exists=True,
    )
    op.add_column("judgments", sa.Column("asked_by", sa.Text), if_not_exists=True)


def downgrade() -> None:
    op.drop_table("agent_quotas")
    op.drop_column("judgments", "asked_by")
