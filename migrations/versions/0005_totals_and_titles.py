"""An index for the totals of the list, whatever it is filtered by."""

from alembic import op

revision = "0005"
down_revision = "0004"

PATIENCE = "2min"
"""Building beside running work waits for transactions that began before it, and blocks nobody meanwhile."""


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        # What an attempt that was cut off has left behind is not valid, and must not be taken for the index.
        op.drop_index("debates_by_standing", "debates", if_exists=True, postgresql_concurrently=True)
        op.create_index(
            "debates_by_standing",
            "debates",
            ["debate_type", "format", "status", "next_actor", "next_round", "intervention_open"],
            postgresql_concurrently=True,
        )
        # Its columns are the first of the new one's.
        op.drop_index("debates_by_kind", "debates", if_exists=True, postgresql_concurrently=True)


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.drop_index("debates_by_kind", "debates", if_exists=True, postgresql_concurrently=True)
        op.create_index("debates_by_kind", "debates", ["debate_type", "format"], postgresql_concurrently=True)
        op.drop_index("debates_by_standing", "debates", if_exists=True, postgresql_concurrently=True)
