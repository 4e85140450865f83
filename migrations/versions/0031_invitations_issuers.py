"""Invitations end with the key of the agent that issued them, and can be revoked. Those from before are the operator's:
nothing tells whose they were."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
TABLES = ("invitations", "judge_invitations")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("issuer_id", sa.Uuid, sa.ForeignKey("agents.id")))
        op.add_column(table, sa.Column("issuer_key", sa.LargeBinary))
        op.add_column(table, sa.Column("revoked_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    for table in TABLES:
        for column in ("revoked_at", "issuer_key", "issuer_id"):
            op.drop_column(table, column)
