"""Solutions as a person reviews them: with the guardrail's evaluation and all decisions."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, insert, select, tuple_, update

from app.core.guardrail.opinion import GuardrailVerdict
from app.core.solutions import GuardrailStatus, Solution
from app.store.ids import new_id
from app.store.mapping import Mapped
from app.store.solutions.evaluations import OF_EVALUATION, Evaluation, evaluation_rows
from app.store.solutions.solutions import SOLUTIONS, solution_rows
from app.store.solutions.tables import solution_decisions, solutions
from app.store.statements import count

_MODERATED = SOLUTIONS.add_columns(*OF_EVALUATION)
_is_flagged = solutions.c.guardrail_status == GuardrailStatus.FLAGGED


@dataclass(frozen=True, slots=True)
class SolutionDecision:
    decision: GuardrailVerdict
    decided_by: str
    reason: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class ModeratedSolution:
    solution: Solution
    evaluation: Evaluation
    decisions: tuple[SolutionDecision, ...]
    """Oldest first; the last one counts."""


decision_rows = Mapped(SolutionDecision)


def moderated(connection: Connection, solution_id: UUID) -> ModeratedSolution | None:
    row = connection.execute(_MODERATED.where(solutions.c.id == solution_id)).mappings().one_or_none()
    if row is None:
        return None
    made = solution_decisions.c
    query = select(*(made[name] for name in decision_rows.columns)).where(made.solution_id == solution_id)
    rows = connection.execute(query.order_by(made.decided_at, made.id)).mappings()
    decisions = tuple(map(decision_rows.value, rows))
    return ModeratedSolution(solution_rows.value(row), evaluation_rows.value(row), decisions)


def flagged(connection: Connection, after: tuple[datetime, UUID] | None, limit: int) -> list[Solution]:
    """Solutions that wait for a person, oldest first; one more than `limit` where there are more."""
    query = SOLUTIONS.where(_is_flagged)
    if after is not None:
        query = query.where(tuple_(solutions.c.created_at, solutions.c.id) > tuple_(*after))
    query = query.order_by(solutions.c.created_at, solutions.c.id).limit(limit + 1)
    return solution_rows.all(connection, query)


def count_flagged(connection: Connection, at_most: int) -> int:
    return count(connection, select(solutions.c.id).where(_is_flagged), at_most)


def decide(connection: Connection, solution_id: UUID, decision: GuardrailVerdict, decided_by: str, reason: str) -> None:
    # First, so that decisions at the same time wait for each other and the last one counts.
    statement = update(solutions).where(solutions.c.id == solution_id)
    connection.execute(statement.values(guardrail_status=decision.value))
    made = {"decision": decision.value, "decided_by": decided_by, "reason": reason}
    connection.execute(insert(solution_decisions).values(id=new_id(), solution_id=solution_id, **made))
