"""What models were sent and answered, prompt sets, and a debate's language.

Only adds. Workers of the version before go on with debates of this one, but do not know their language, prompt set or
thinking: create the first debate that names one when every worker is of this version (docs/upgrading.md).
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0011"
down_revision = "0010"

_timestamp = sa.DateTime(timezone=True)


def upgrade() -> None:
    for name in ("language", "prompts", "prompts_hash"):
        op.add_column("debates", sa.Column(name, sa.Text), if_not_exists=True)
    op.add_column("turns", sa.Column("prompts_hash", sa.Text), if_not_exists=True)
    shortened = sa.Column("context_shortened", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("turns", shortened, if_not_exists=True)
    op.add_column("worker_leases", sa.Column("players", JSONB), if_not_exists=True)
    op.create_table(
        "prompt_sets",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("base", sa.Text, nullable=False),
        sa.Column("files", JSONB, nullable=False),
        sa.Column("added_at", _timestamp, nullable=False, server_default=sa.func.clock_timestamp()),
        if_not_exists=True,
    )
    op.create_index("prompt_sets_by_hash", "prompt_sets", ["hash"], if_not_exists=True)
    op.create_table(
        "exchanges",
        sa.Column("turn_id", sa.Uuid, sa.ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("judge_order", sa.Text),
        sa.Column("system", sa.Text, nullable=False),
        sa.Column("document_hash", sa.Text),
        sa.Column("messages", JSONB, nullable=False),
        sa.Column("settings", JSONB, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("request_id", sa.Text),
        sa.Column("created_at", _timestamp, nullable=False, server_default=sa.func.clock_timestamp()),
        if_not_exists=True,
    )
    op.create_index("exchanges_by_time", "exchanges", ["created_at"], if_not_exists=True)


def downgrade() -> None:
    op.drop_table("exchanges")
    op.drop_table("prompt_sets")
    op.drop_column("worker_leases", "players")
    for name in ("context_shortened", "prompts_hash"):
        op.drop_column("turns", name)
    for name in ("prompts_hash", "prompts", "language"):
        op.drop_column("debates", name)
