"""Seven formats, questions, verdicts of the whole debate, and what a debate has to remember for them.

Verdicts stored before have no scope, and each judged its round: the debate gets the mean of its rounds as its standing.
Only where a person closed the debate with a verdict is that verdict the debate's: that is what the person said. Scope
and confidence are columns, not keys of the verdict's JSON, because the version before refuses keys that it does not
know, and it reads these rows until its last process is gone.

Workers of the version before run on beside this one, but cannot read debates of the new formats: create the first of
those when every worker is of this version (docs/upgrading.md).
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0010"
down_revision = "0009"

_CONSTRAINTS = {
    ("debates", "debates_format_known"): (
        "format IN ('rounds', 'dialogue')",
        "format IN ('rounds', 'dialogue', 'final_ruling', 'simultaneous', 'interactive', 'consultancy', 'direct')",
    ),
    ("turns", "turns_type_known"): (
        "type IN ('MOTION', 'CLAIM', 'APPEAL', 'RULING', 'INTERVENTION', 'RESOLUTION')",
        "type IN ('MOTION', 'CLAIM', 'APPEAL', 'RULING', 'INTERVENTION', 'RESOLUTION', 'QUESTION')",
    ),
}
_OUTSIDE = "CASE type WHEN 'INTERVENTION' THEN round IS NULL WHEN 'RULING' THEN true ELSE round IS NOT NULL END"
_MARK_CLOSING_RULINGS = """
UPDATE turns SET verdict_scope = 'debate'
FROM debates
WHERE debates.id = turns.debate_id AND debates.stop_reason = 'ruling' AND turns.seq = debates.turn_count
  AND turns.type = 'RULING' AND turns.player = 'external' AND turns.verdict IS NOT NULL
"""
_MARK_DEBATES = """
UPDATE debates SET verdict_scope = judged.scope, standing = judged.standing
FROM (
    SELECT debate_id, max(verdict_scope) AS scope,
           CASE WHEN count(*) FILTER (WHERE verdict_scope IS NULL) > 0 THEN jsonb_build_object(
               'scores', jsonb_build_object(
                   'proposer', avg((verdict #>> '{scores,proposer}')::double precision)
                       FILTER (WHERE verdict_scope IS NULL),
                   'opponent', avg((verdict #>> '{scores,opponent}')::double precision)
                       FILTER (WHERE verdict_scope IS NULL)),
               'rounds', count(*) FILTER (WHERE verdict_scope IS NULL)) END AS standing
    FROM turns WHERE verdict IS NOT NULL AND round IS NOT NULL GROUP BY debate_id
) AS judged
WHERE debates.id = judged.debate_id AND debates.verdict IS NOT NULL
"""
_OF_VERDICTS = (("verdict_scope", sa.Text), ("verdict_confidence", sa.Double))


def upgrade() -> None:
    op.add_column("debates", sa.Column("interrupted_actor", sa.Text), if_not_exists=True)
    op.add_column("debates", sa.Column("closing", sa.Text), if_not_exists=True)
    op.add_column("debates", sa.Column("standing", JSONB), if_not_exists=True)
    for table in ("debates", "turns"):
        for column, kind in _OF_VERDICTS:
            op.add_column(table, sa.Column(column, kind), if_not_exists=True)
    for (table, name), (_, new) in _CONSTRAINTS.items():
        _replace(table, name, new)
    op.execute("ALTER TABLE turns DROP CONSTRAINT IF EXISTS turns_only_interventions_lack_a_round")
    _replace("turns", "turns_outside_the_order", _OUTSIDE)
    for statement in (_MARK_CLOSING_RULINGS, _MARK_DEBATES):
        op.execute(statement)


def downgrade() -> None:
    """Refused by the constraints while there are debates of the new formats, or turns of the new kinds."""
    op.execute("ALTER TABLE turns DROP CONSTRAINT turns_outside_the_order")
    _replace("turns", "turns_only_interventions_lack_a_round", "(type = 'INTERVENTION') = (round IS NULL)")
    for (table, name), (old, _) in _CONSTRAINTS.items():
        _replace(table, name, old)
    op.execute(
        "UPDATE debates SET verdict = (SELECT verdict FROM turns WHERE turns.debate_id = debates.id"
        " AND verdict IS NOT NULL ORDER BY seq DESC LIMIT 1) WHERE verdict IS NOT NULL OR standing IS NOT NULL"
    )
    for column in ("standing", "closing", "interrupted_actor"):
        op.drop_column("debates", column)
    for table in ("debates", "turns"):
        for column, _ in _OF_VERDICTS:
            op.drop_column(table, column)


def _replace(table: str, name: str, condition: str) -> None:
    """Checked in a second step, which blocks no writes."""
    op.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}")
    op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK ({condition}) NOT VALID")
    op.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")
