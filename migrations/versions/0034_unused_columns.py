"""Drops what nothing reads.

Processes from before this revision read some of it: end them first (docs/upgrading.md).
"""

from alembic import op

revision = "0034"
down_revision = "0033"

_DROPPED = """
DROP TABLE IF EXISTS workers;
ALTER TABLE debates DROP COLUMN IF EXISTS claim_expires_at, DROP COLUMN IF EXISTS queued_at;
ALTER TABLE guardrail_evaluations DROP COLUMN IF EXISTS queued_at;
ALTER TABLE matches DROP COLUMN IF EXISTS attempt;
"""


def upgrade() -> None:
    op.execute(_DROPPED)
