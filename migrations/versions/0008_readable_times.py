"""No moment of a next attempt that Python cannot read back, and debates that have one are due now.

A provider could ask for a wait of ten thousand years. Whatever read such a debate failed.
"""

from alembic import op

revision = "0008"
down_revision = "0007"

CONSTRAINT = "debates_next_attempt_readable"


def upgrade() -> None:
    op.execute(
        "UPDATE debates SET next_attempt_at = NULL, due_at = clock_timestamp(), queued_at = NULL"
        " WHERE next_attempt_at > clock_timestamp() + interval '1 day'"
    )
    # An attempt that was cut off may have left it behind.
    op.execute(f"ALTER TABLE debates DROP CONSTRAINT IF EXISTS {CONSTRAINT}")
    op.execute(
        f"ALTER TABLE debates ADD CONSTRAINT {CONSTRAINT} CHECK (next_attempt_at < '9999-01-01 00:00:00+00') NOT VALID"
    )
    # In a transaction of its own: the rows are looked at under a lock that stops neither readers nor writers.
    with op.get_context().autocommit_block():
        op.execute(f"ALTER TABLE debates VALIDATE CONSTRAINT {CONSTRAINT}")


def downgrade() -> None:
    op.execute(f"ALTER TABLE debates DROP CONSTRAINT {CONSTRAINT}")
