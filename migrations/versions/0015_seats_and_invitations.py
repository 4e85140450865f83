"""Deadlines of external seats, and invitations. Who holds a seat is in `seats`.

Workers of the version before cannot read seats with a deadline or a holder: use the first of those when every worker is
of this version (docs/upgrading.md).
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("debates", sa.Column("waiting_until", sa.DateTime(timezone=True)), if_not_exists=True)
    op.create_table(
        "invitations",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("debate_id", sa.Uuid, sa.ForeignKey("debates.id", ondelete="CASCADE"), nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("token_hash", sa.LargeBinary, nullable=False),
        sa.Column("invited_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("token_hash", name="invitations_one_per_token"),
        sa.CheckConstraint("role IN ('proposer', 'opponent', 'arbitrator', 'watcher')", name="invitations_role_known"),
    )
    op.create_index("invitations_by_debate", "invitations", ["debate_id"])
    op.create_table(
        "guest_sessions",
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        sa.Column("invitation_id", sa.Uuid, sa.ForeignKey("invitations.id", ondelete="CASCADE"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("guest_sessions_by_invitation", "guest_sessions", ["invitation_id"])


def downgrade() -> None:
    op.drop_table("guest_sessions")
    op.drop_table("invitations")
    op.drop_column("debates", "waiting_until")
