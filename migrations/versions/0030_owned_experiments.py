"""Judgments count in an experiment or not: of one key, there may be one of each. And a match may fail without a debate,
where none could be made."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0027"


def upgrade() -> None:
    op.execute("""
        ALTER TABLE matches DROP CONSTRAINT matches_held_have_a_debate,
            ADD CONSTRAINT matches_held_have_a_debate CHECK (status IN ('planned', 'failed') OR debate_id IS NOT NULL)
    """)
    op.execute("""
        ALTER TABLE judgments DROP CONSTRAINT judgments_one_per_key, ADD CONSTRAINT judgments_one_per_key
            UNIQUE NULLS NOT DISTINCT (debate_id, judge, "order", repeat, experiment_id)
    """)
    # Imported judgments are of the judges of somebody else's spec.
    op.execute("""
        UPDATE judgments SET experiment_id = NULL,
            due_at = CASE WHEN judgments.status = 'planned' AND claim_token IS NULL THEN clock_timestamp() END
        FROM experiments
        WHERE experiments.id = judgments.experiment_id AND experiments.concurrency > 0
          AND judge NOT LIKE 'person:%' AND NOT EXISTS (
            SELECT FROM jsonb_array_elements(experiments.spec -> 'judges') AS one
            WHERE btrim(coalesce(one ->> 'name', one ->> 'player')) = judge)
    """)
    op.create_index("judgments_by_hand", "judgments", ["debate_id"], postgresql_where=sa.text("experiment_id IS NULL"))


def downgrade() -> None:
    op.drop_index("judgments_by_hand", "judgments")
    op.execute("""
        DELETE FROM judgments AS other USING judgments AS own
        WHERE other.experiment_id IS NULL AND own.experiment_id IS NOT NULL AND other.debate_id = own.debate_id
          AND other.judge = own.judge AND other."order" = own."order" AND other.repeat = own.repeat
    """)
    op.execute("""
        ALTER TABLE judgments DROP CONSTRAINT judgments_one_per_key,
            ADD CONSTRAINT judgments_one_per_key UNIQUE (debate_id, judge, "order", repeat)
    """)
    op.execute("UPDATE matches SET status = 'planned', reason = NULL WHERE status = 'failed' AND debate_id IS NULL")
    op.execute("""
        ALTER TABLE matches DROP CONSTRAINT matches_held_have_a_debate,
            ADD CONSTRAINT matches_held_have_a_debate CHECK (status = 'planned' OR debate_id IS NOT NULL)
    """)
