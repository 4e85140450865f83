"""The schema as it was before the first release."""

from pathlib import Path

from alembic import op

revision = "0033"
down_revision = None


def upgrade() -> None:
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
