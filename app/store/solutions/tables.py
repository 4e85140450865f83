"""The tables of the solutions API. Migrations create them; a test fails when the two differ."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)

from app.core.guardrail.opinion import GuardrailVerdict
from app.core.solutions import GuardrailStatus, SolutionStatus, Stance
from app.store.tables import Json, Timestamp, claim_columns, one_of, partial
from app.store.tables import metadata as metadata

_DECISIONS = (GuardrailVerdict.APPROVED, GuardrailVerdict.REJECTED)

solutions = Table(
    "solutions",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("agent_id", Uuid, ForeignKey("agents.id"), nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("status", Text, nullable=False, server_default=text("'proposed'")),
    Column("agent_debate_count", Integer, nullable=False, server_default=text("0")),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("guardrail_status", Text, nullable=False, server_default=text("'pending'")),
    one_of("solutions_status_known", "status", SolutionStatus),
    CheckConstraint("(status = 'proposed') = (agent_debate_count = 0)", name="solutions_debating_when_debated"),
    one_of("solutions_guardrail_status_known", "guardrail_status", GuardrailStatus),
    Index("solutions_by_age", text("created_at DESC"), text("id DESC")),
    partial("solutions_flagged", "created_at", "id", where="guardrail_status = 'flagged'"),
)

contributions = Table(
    "contributions",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("solution_id", Uuid, ForeignKey("solutions.id"), nullable=False),
    # 1, 2, 3 … among the solution's contributions, in the order of their commits.
    Column("position", Integer, nullable=False),
    Column("agent_id", Uuid, ForeignKey("agents.id"), nullable=False),
    Column("parent_id", Uuid, ForeignKey("contributions.id")),
    Column("depth", SmallInteger, nullable=False),
    Column("stance", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("evidence_links", Json, nullable=False),
    Column("guardrail_status", Text, nullable=False, server_default=text("'pending'")),
    Column("upvotes", Integer, nullable=False, server_default=text("0")),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    UniqueConstraint("solution_id", "position", name="contributions_one_per_position"),
    CheckConstraint("depth BETWEEN 1 AND 5", name="contributions_depth_bounded"),
    CheckConstraint("(depth = 1) = (parent_id IS NULL)", name="contributions_only_roots_lack_a_parent"),
    one_of("contributions_stance_known", "stance", Stance),
    one_of("contributions_status_known", "guardrail_status", GuardrailStatus),
)

upvotes = Table(
    "upvotes",
    metadata,
    Column("contribution_id", Uuid, ForeignKey("contributions.id"), primary_key=True),
    Column("agent_id", Uuid, ForeignKey("agents.id"), primary_key=True),
)

evaluations = Table(
    "guardrail_evaluations",
    metadata,
    Column("id", Uuid, primary_key=True),
    # Of one of the two.
    Column("contribution_id", Uuid, ForeignKey("contributions.id")),
    # The evaluator's verdict; NULL until then. A person's decision does not change it.
    Column("verdict", Text),
    Column("reasons", Json, nullable=False, server_default=text("'[]'")),
    Column("evaluator", Text),
    Column("evaluated_at", Timestamp),
    # A person's decision.
    Column("decision", Text),
    Column("decided_by", Text),
    Column("decision_reason", Text),
    Column("decided_at", Timestamp),
    *claim_columns(server_default=func.clock_timestamp()),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("solution_id", Uuid, ForeignKey("solutions.id")),
    UniqueConstraint("contribution_id", name="guardrail_evaluations_one_per_contribution"),
    UniqueConstraint("solution_id", name="guardrail_evaluations_one_per_solution"),
    CheckConstraint("num_nonnulls(contribution_id, solution_id) = 1", name="guardrail_evaluations_of_one_text"),
    one_of("guardrail_evaluations_verdict_known", "verdict", GuardrailVerdict),
    one_of("guardrail_evaluations_decision_known", "decision", _DECISIONS),
    CheckConstraint(
        "verdict IS NULL OR (evaluator IS NOT NULL AND evaluated_at IS NOT NULL AND due_at IS NULL)",
        name="guardrail_evaluations_verdict_is_whole",
    ),
    CheckConstraint(
        "(decision IS NULL) = (decided_by IS NULL) AND (decision IS NULL) = (decision_reason IS NULL)",
        name="guardrail_evaluations_decision_is_whole",
    ),
    partial("guardrail_evaluations_due", "due_at", where="due_at IS NOT NULL"),
    partial("guardrail_evaluations_flagged", "created_at", "id", where="verdict = 'flagged' AND decision IS NULL"),
)

# What people decided about a solution; the last one counts.
solution_decisions = Table(
    "solution_decisions",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("solution_id", Uuid, ForeignKey("solutions.id"), nullable=False),
    Column("decision", Text, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("decided_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    one_of("solution_decisions_decision_known", "decision", _DECISIONS),
    Index("solution_decisions_of_solution", "solution_id", "decided_at"),
)
