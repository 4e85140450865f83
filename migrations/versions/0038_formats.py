"""Formats that users write, and the version of its format that a debate keeps."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    op.create_table(
        "formats",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("schedule", sa.Text, nullable=False),
        sa.Column("is_current", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
    )
    op.create_index("formats_current", "formats", ["name"], unique=True, postgresql_where=sa.text("is_current"))
    op.add_column("debates", sa.Column("format_hash", sa.Text))
    op.drop_constraint("debates_format_known", "debates")
    names = "'rounds', 'dialogue', 'final_ruling', 'simultaneous', 'interactive', 'consultancy', 'direct'"
    known = f"format_hash IS NOT NULL OR format IN ({names})"
    op.create_check_constraint("debates_format_known", "debates", known, postgresql_not_valid=True)
    op.execute("ALTER TABLE debates VALIDATE CONSTRAINT debates_format_known")
    op.add_column("experiments", sa.Column("formats", sa.dialects.postgresql.JSONB(none_as_null=True)))
