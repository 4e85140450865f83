"""State that was read out of sentences, names and magic numbers gets columns.

| column | was read out of |
|---|---|
| `debates.imported` | a debate that its rounds closed, with no turn but the motion |
| `debates.missed_deadline` | the reason `time_limit` with a note |
| `experiments.imported` | a concurrency of 0 |
| `matches.interrupted` | the reason "The experiment was stopped." |
| `judgments.judge_kind` | the beginning of the judge's name |
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
_FLAGS = (
    ("debates", "imported"),
    ("debates", "missed_deadline"),
    ("experiments", "imported"),
    ("matches", "interrupted"),
)
_CHECKS = (
    ("experiments", "experiments_stop_reason_known", "stop_reason IN ('budget', 'manual_stop')"),
    ("experiments", "experiments_concurrency_positive", "concurrency >= 1"),
    ("matches", "matches_interrupted_are_running", "status = 'running' OR NOT interrupted"),
    ("judgments", "judgments_judge_kind_known", "judge_kind IN ('worker', 'person', 'agent')"),
)


def upgrade() -> None:
    for table, name in _FLAGS:
        op.add_column(table, sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("judgments", sa.Column("judge_kind", sa.Text, nullable=False, server_default="worker"))
    op.execute("""
        UPDATE debates SET
            imported = status = 'completed' AND stop_reason = 'max_rounds' AND turn_count <= 1,
            missed_deadline = stop_reason = 'forfeit' OR stop_reason = 'time_limit' AND coalesce(stop_note, '') <> ''
        WHERE stop_reason IN ('max_rounds', 'time_limit', 'forfeit')
          AND (stop_reason <> 'max_rounds' OR turn_count <= 1)
    """)
    op.execute("UPDATE experiments SET imported = true, concurrency = 50 WHERE concurrency = 0")
    op.execute("""
        UPDATE matches SET interrupted = true WHERE status = 'running' AND reason = 'The experiment was stopped.'
    """)
    op.execute("""
        UPDATE judgments SET judge_kind = split_part(judge, ':', 1)
        WHERE judge LIKE 'person:%' OR judge LIKE 'agent:%'
    """)
    for table, name, condition in _CHECKS:
        op.create_check_constraint(name, table, condition)
