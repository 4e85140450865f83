"""An index of the debates that an opponent could join now."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

PATIENCE = "2min"
"""Building beside running work waits for transactions that began before it, and blocks nobody meanwhile."""
_WANTING_OPPONENT = (
    "status IN ('created', 'running') AND next_actor = 'debater_b' AND next_round = 1"
    " AND seats -> 'opponent' ->> 'player' = 'external' AND seats -> 'opponent' ->> 'agent_id' IS NULL"
)
_CAN_BE_JOINED = (
    f"{_WANTING_OPPONENT} AND seats -> 'opponent' ->> 'held_by' IS NULL"
    " AND NOT (status = 'created' AND waits_for_start)"
)


def upgrade() -> None:
    """With the conditions that the list has had since seats can be taken and debates wait for their start: the index
    without them named debates that had to be looked at, each of thousands, to be counted."""
    _replace("debates_wanting_opponent", "debates_to_join", _CAN_BE_JOINED)


def downgrade() -> None:
    _replace("debates_to_join", "debates_wanting_opponent", _WANTING_OPPONENT)


def _replace(old: str, new: str, condition: str) -> None:
    """An attempt that was cut off is taken up again: what it has left behind is not valid, and must not be taken for
    the index."""
    with op.get_context().autocommit_block():
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        op.drop_index(new, "debates", if_exists=True, postgresql_concurrently=True)
        op.create_index(
            new,
            "debates",
            [sa.text("updated_at DESC"), "id"],
            postgresql_where=sa.text(condition),
            postgresql_concurrently=True,
        )
        op.drop_index(old, "debates", if_exists=True, postgresql_concurrently=True)
