"""Invitations to judge an experiment's debates, and the sessions of those who accepted one."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "judge_invitations",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("experiment_id", sa.Uuid, sa.ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
        sa.Column("judge", sa.Text, nullable=False),
        sa.Column("token_hash", sa.LargeBinary, nullable=False),
        sa.Column("salt", sa.LargeBinary, nullable=False),
        sa.Column("invited_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("token_hash", name="judge_invitations_one_per_token"),
    )
    op.create_index("judge_invitations_by_experiment", "judge_invitations", ["experiment_id"])
    op.create_table(
        "judge_sessions",
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        sa.Column("invitation_id", sa.Uuid, sa.ForeignKey("judge_invitations.id", ondelete="CASCADE"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("judge_sessions_by_invitation", "judge_sessions", ["invitation_id"])


def downgrade() -> None:
    op.drop_table("judge_sessions")
    op.drop_table("judge_invitations")
