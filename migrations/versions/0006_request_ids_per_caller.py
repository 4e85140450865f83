"""A client_request_id counts per caller, and an index for the debates that want their first opponent."""

from collections.abc import Callable

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

LOCK_TIMEOUT = "5s"
"""A column or a constraint takes the whole table for a moment. If the lock is not there by then, the migration gives up
instead of making every reader and writer queue behind it; it can be run again."""
PATIENCE = "2min"
"""Building an index beside running work waits for transactions that began before it, and blocks nobody meanwhile."""
PENDING = (
    "status IN ('created', 'running') AND next_actor = 'debater_b' AND next_round = 1"
    " AND seats -> 'opponent' ->> 'player' = 'external' AND seats -> 'opponent' ->> 'agent_id' IS NULL"
)


def upgrade() -> None:
    """Every step may be repeated: an attempt that was cut off is taken up again.

    The previous version goes on beside it. It leaves the new columns empty, and stores no client_request_id twice in a
    debate, so nothing that it writes offends the new indexes. The new unique key is there before the old one goes.
    """
    with op.get_context().autocommit_block():
        op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        op.add_column("debates", sa.Column("created_by", sa.Text), if_not_exists=True)
        op.add_column("debates", sa.Column("client_request_id", sa.Text), if_not_exists=True)
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        _build(
            "debates_one_per_request",
            "debates",
            lambda name: op.create_index(
                name,
                "debates",
                ["created_by", "client_request_id"],
                unique=True,
                postgresql_where=sa.text("created_by IS NOT NULL"),
                postgresql_concurrently=True,
            ),
        )
        _build(
            "debates_wanting_opponent",
            "debates",
            lambda name: op.create_index(
                name,
                "debates",
                [sa.text("updated_at DESC"), "id"],
                postgresql_where=sa.text(PENDING),
                postgresql_concurrently=True,
            ),
        )
        _build(
            "turns_one_per_request_of_caller",
            "turns",
            lambda name: op.create_index(
                name,
                "turns",
                ["debate_id", "client_request_id", sa.text("COALESCE(agent_id::text, actor)")],
                unique=True,
                postgresql_where=sa.text("client_request_id IS NOT NULL"),
                postgresql_concurrently=True,
            ),
        )
        op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        op.drop_constraint("turns_one_per_request", "turns", if_exists=True)


def _build(name: str, table: str, create: Callable[[str], None]) -> None:
    """An index that an earlier attempt finished stays; what a cut-off attempt left is not valid, and is built anew."""
    valid = op.get_bind().execute(
        sa.text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)"), {"name": name}
    )
    if valid.scalar():
        return
    op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)
    create(name)


def downgrade() -> None:
    """Fails where two callers have used one client_request_id in a debate: the old key cannot hold both."""
    with op.get_context().autocommit_block():
        op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        op.drop_constraint("turns_one_per_request", "turns", if_exists=True)
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        _build(
            "turns_one_per_request",
            "turns",
            lambda name: op.create_index(
                name, "turns", ["debate_id", "client_request_id"], unique=True, postgresql_concurrently=True
            ),
        )
        op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        op.execute("ALTER TABLE turns ADD CONSTRAINT turns_one_per_request UNIQUE USING INDEX turns_one_per_request")
        op.drop_index("turns_one_per_request_of_caller", "turns", if_exists=True)
        for name in ("debates_one_per_request", "debates_wanting_opponent"):
            op.drop_index(name, "debates", if_exists=True)
        op.execute("ALTER TABLE debates DROP COLUMN IF EXISTS created_by, DROP COLUMN IF EXISTS client_request_id")
