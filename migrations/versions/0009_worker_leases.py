"""Leases of workers instead of an expiry for each claim, and which share of a worker a debate's next turn needs.

Workers of the version before may run beside this one: they see a claim of a newer worker as live for as long as
`claim_expires_at` says (`app.store.commit.OLD_CLAIM_SECONDS`), and newer workers respect theirs until it lapses.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

PATIENCE = "2min"
"""Building beside running work waits for transactions that began before it, and blocks nobody meanwhile."""

_timestamp = sa.DateTime(timezone=True)


def upgrade() -> None:
    # What comes before the index is committed before it is built: after a revision that was cut off, it is there.
    op.create_table(
        "worker_leases",
        sa.Column("worker_id", sa.Text, primary_key=True),
        sa.Column("renewed_at", _timestamp, nullable=False),
        sa.Column("expires_at", _timestamp, nullable=False),
        if_not_exists=True,
    )
    op.add_column("debates", sa.Column("share", sa.Text, nullable=False, server_default=""), if_not_exists=True)
    op.add_column("debates", sa.Column("settled_token", sa.Uuid), if_not_exists=True)
    op.add_column("guardrail_evaluations", sa.Column("claimed_by", sa.Text), if_not_exists=True)
    with op.get_context().autocommit_block():
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        op.drop_index("debates_due_by_share", "debates", if_exists=True, postgresql_concurrently=True)
        op.create_index(
            "debates_due_by_share",
            "debates",
            ["share", "due_at"],
            postgresql_where=sa.text("due_at IS NOT NULL"),
            postgresql_concurrently=True,
        )
        op.drop_index("debates_due", "debates", if_exists=True, postgresql_concurrently=True)


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.drop_index("debates_due", "debates", if_exists=True, postgresql_concurrently=True)
        op.create_index(
            "debates_due",
            "debates",
            ["due_at"],
            postgresql_where=sa.text("due_at IS NOT NULL"),
            postgresql_concurrently=True,
        )
        op.drop_index("debates_due_by_share", "debates", if_exists=True, postgresql_concurrently=True)
    op.drop_column("guardrail_evaluations", "claimed_by")
    op.drop_column("debates", "settled_token")
    op.drop_column("debates", "share")
    op.drop_table("worker_leases")
