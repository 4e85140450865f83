"""The words of turns in a table of their own, which workers fill after the turn is stored."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

revision = "0020"
down_revision = "0019"

PATIENCE = "2min"
"""Dropping an index beside running work waits for transactions that began before it, and blocks nobody meanwhile."""


def upgrade() -> None:
    """An attempt that was cut off is taken up again. Workers index what is stored already, as they do what comes."""
    with op.get_context().autocommit_block():
        op.create_table(
            "indexed_turns",
            sa.Column("debate_id", sa.Uuid, sa.ForeignKey("debates.id", ondelete="CASCADE"), primary_key=True),
            sa.Column("seq", sa.Integer, primary_key=True),
            sa.Column("words", TSVECTOR, nullable=False),
            if_not_exists=True,
        )
        op.create_index(
            "indexed_turns_by_word",
            "indexed_turns",
            ["words"],
            postgresql_using="gin",
            postgresql_with={"gin_pending_list_limit": 1024},
            if_not_exists=True,
        )
        op.create_table(
            "text_index",
            sa.Column("is_only_row", sa.Boolean, primary_key=True, server_default=sa.true()),
            sa.Column("indexed_until", sa.DateTime(timezone=True), nullable=False),
            sa.Column("next_pass_at", sa.DateTime(timezone=True), nullable=False),
            sa.CheckConstraint("is_only_row", name="text_index_has_one_row"),
            if_not_exists=True,
        )
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        op.drop_index("turns_by_word", "turns", if_exists=True, postgresql_concurrently=True)


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        op.create_index(
            "turns_by_word",
            "turns",
            [sa.text("turn_words(content)")],
            postgresql_using="gin",
            postgresql_with={"gin_pending_list_limit": 1024},
            postgresql_concurrently=True,
            if_not_exists=True,
        )
        op.drop_table("text_index", if_exists=True)
        op.drop_table("indexed_turns", if_exists=True)
