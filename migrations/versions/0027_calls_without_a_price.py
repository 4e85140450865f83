"""How many calls of a day have no known price."""

from alembic import op
from sqlalchemy import Column, Integer, text

revision = "0027"
down_revision = "0025"


def upgrade() -> None:
    """The version before writes rows without it."""
    op.add_column("daily_costs", Column("unpriced_calls", Integer, nullable=False, server_default=text("0")))


def downgrade() -> None:
    op.drop_column("daily_costs", "unpriced_calls")
