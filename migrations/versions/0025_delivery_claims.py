"""Deliveries of webhooks are claimed by a token, and an index holds only those that are due."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column("webhook_deliveries", sa.Column("claim_token", sa.Uuid))
    op.create_index(
        "webhook_deliveries_due_by_number",
        "webhook_deliveries",
        ["webhook_id", "number"],
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("webhook_deliveries_due_by_number", "webhook_deliveries")
    op.drop_column("webhook_deliveries", "claim_token")
