"""A judgment may be of the beginning of a debate. Existing judgments are of whole debates."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
_KEY = "judgments_one_per_key"


def upgrade() -> None:
    op.add_column("judgments", sa.Column("through_round", sa.Integer))
    op.create_check_constraint("judgments_through_round_known", "judgments", "through_round >= 0")
    op.drop_constraint(_KEY, "judgments")
    op.create_unique_constraint(
        _KEY,
        "judgments",
        ["debate_id", "judge", "order", "repeat", "through_round", "experiment_id"],
        postgresql_nulls_not_distinct=True,
    )
