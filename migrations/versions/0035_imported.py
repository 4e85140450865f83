"""Whether a debate was held elsewhere and imported.

Only adds.
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    column = sa.Column("imported", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("debates", column, if_not_exists=True)


def downgrade() -> None:
    op.drop_column("debates", "imported")
