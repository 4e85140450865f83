"""A delivery's claim lives as long as its worker's lease.

A delivery in flight at the moment of the upgrade is due again: it may be delivered twice.
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    op.add_column("webhook_deliveries", sa.Column("claimed_by", sa.Text))
    op.execute("UPDATE webhook_deliveries SET claim_token = NULL WHERE claim_token IS NOT NULL")
    op.create_index(
        "webhook_deliveries_claimed",
        "webhook_deliveries",
        ["claimed_by"],
        postgresql_where=sa.text("claimed_by IS NOT NULL"),
    )
