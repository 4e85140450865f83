"""The guardrail evaluates solutions, and a person decides about them; a decision can be replaced by a later one."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.add_column("solutions", sa.Column("guardrail_status", sa.Text, nullable=False, server_default="pending"))
    op.create_check_constraint(
        "solutions_guardrail_status_known",
        "solutions",
        "guardrail_status IN ('pending', 'approved', 'rejected', 'flagged')",
    )
    op.create_index(
        "solutions_flagged",
        "solutions",
        ["created_at", "id"],
        postgresql_where=sa.text("guardrail_status = 'flagged'"),
    )
    op.alter_column("guardrail_evaluations", "contribution_id", nullable=True)
    op.add_column("guardrail_evaluations", sa.Column("solution_id", sa.Uuid, sa.ForeignKey("solutions.id")))
    op.create_unique_constraint("guardrail_evaluations_one_per_solution", "guardrail_evaluations", ["solution_id"])
    op.create_check_constraint(
        "guardrail_evaluations_of_one_text",
        "guardrail_evaluations",
        "num_nonnulls(contribution_id, solution_id) = 1",
    )
    op.execute("INSERT INTO guardrail_evaluations (id, solution_id) SELECT gen_random_uuid(), id FROM solutions")
    op.create_table(
        "solution_decisions",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("solution_id", sa.Uuid, sa.ForeignKey("solutions.id"), nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column(
            "decided_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.text("clock_timestamp()")
        ),
        sa.CheckConstraint("decision IN ('approved', 'rejected')", name="solution_decisions_decision_known"),
    )
    op.create_index("solution_decisions_of_solution", "solution_decisions", ["solution_id", "decided_at"])


def downgrade() -> None:
    op.drop_table("solution_decisions")
    op.execute("DELETE FROM guardrail_evaluations WHERE contribution_id IS NULL")
    op.drop_constraint("guardrail_evaluations_of_one_text", "guardrail_evaluations")
    op.drop_column("guardrail_evaluations", "solution_id")
    op.alter_column("guardrail_evaluations", "contribution_id", nullable=False)
    op.drop_column("solutions", "guardrail_status")
