"""What models were sent and answered for judgments, and the hash of the prompts that they were instructed with.

Only adds. Judgments that workers of the version before make have neither.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("judgments", sa.Column("prompts_hash", sa.Text), if_not_exists=True)
    op.create_table(
        "judgment_exchanges",
        sa.Column("judgment_id", sa.Uuid, sa.ForeignKey("judgments.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("judge_order", sa.Text),
        sa.Column("system", sa.Text, nullable=False),
        sa.Column("document_hash", sa.Text),
        sa.Column("messages", JSONB, nullable=False),
        sa.Column("settings", JSONB, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("request_id", sa.Text),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
        if_not_exists=True,
    )
    op.create_index("judgment_exchanges_by_time", "judgment_exchanges", ["created_at"], if_not_exists=True)


def downgrade() -> None:
    op.drop_table("judgment_exchanges")
    op.drop_column("judgments", "prompts_hash")
