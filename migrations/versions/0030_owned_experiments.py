"""A match may fail without a debate, where none could be made."""

from alembic import op

revision = "0030"
down_revision = "0024"


def upgrade() -> None:
    op.execute("""
        ALTER TABLE matches DROP CONSTRAINT matches_held_have_a_debate,
            ADD CONSTRAINT matches_held_have_a_debate CHECK (status IN ('planned', 'failed') OR debate_id IS NOT NULL)
    """)


def downgrade() -> None:
    op.execute("UPDATE matches SET status = 'planned', reason = NULL WHERE status = 'failed' AND debate_id IS NULL")
    op.execute("""
        ALTER TABLE matches DROP CONSTRAINT matches_held_have_a_debate,
            ADD CONSTRAINT matches_held_have_a_debate CHECK (status = 'planned' OR debate_id IS NOT NULL)
    """)
