"""Indexes for the filters of the list, so that a page and its total cost the same however many debates there are."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

PATIENCE = "2min"
"""Building beside running work waits for transactions that began before it, and blocks nobody meanwhile."""


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        # What an attempt that was cut off has left behind is not valid, and must not be taken for the index.
        _drop()
        op.create_index(
            "debates_open_by_actor",
            "debates",
            ["next_actor", sa.text("updated_at DESC"), "id"],
            postgresql_include=["next_round", "intervention_open"],
            postgresql_where=sa.text("status NOT IN ('completed', 'stopped')"),
            postgresql_concurrently=True,
        )
        op.create_index("debates_by_kind", "debates", ["debate_type", "format"], postgresql_concurrently=True)


def downgrade() -> None:
    with op.get_context().autocommit_block():
        _drop()


def _drop() -> None:
    for name in ("debates_by_kind", "debates_open_by_actor"):
        op.drop_index(name, "debates", if_exists=True, postgresql_concurrently=True)
