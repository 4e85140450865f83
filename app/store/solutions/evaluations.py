"""The guardrail's evaluations: a worker makes one, then a person may decide."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, select, tuple_, update
from sqlalchemy.engine import RowMapping

from app.core.guardrail.opinion import EvaluationClaim, Finding, GuardrailVerdict, Opinion, Text
from app.core.solutions import Contribution, GuardrailStatus
from app.store import claimed_rows
from app.store.engine import Engine
from app.store.mapping import Mapped
from app.store.solutions.solutions import CONTRIBUTIONS, contribution_rows, verdict_values
from app.store.solutions.tables import contributions, evaluations, solutions
from app.store.statements import Prepared, count

_now = func.clock_timestamp()
_CLAIM = claimed_rows.claim_statement(
    claimed_rows.EVALUATIONS, claimed_rows.due_longest(claimed_rows.EVALUATIONS, "verdict IS NULL")
)
_TEXTS = Prepared("SELECT id, content, evidence_links FROM contributions WHERE id = ANY(%(ids)s)")
_SOLUTION_TEXTS = Prepared("SELECT id, title, description FROM solutions WHERE id = ANY(%(ids)s)")
_is_flagged = (
    evaluations.c.verdict == GuardrailVerdict.FLAGGED,
    evaluations.c.decision.is_(None),
    evaluations.c.contribution_id.is_not(None),
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    id: UUID
    status: GuardrailStatus
    verdict: GuardrailVerdict | None
    reasons: tuple[Finding, ...]
    evaluator: str | None
    evaluated_at: datetime | None
    decision: GuardrailVerdict | None
    decided_by: str | None
    decision_reason: str | None
    decided_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Review:
    """A contribution with its evaluation."""

    evaluation: Evaluation
    contribution: Contribution


def claim(engine: Engine, worker_id: str, at_most: int) -> list[EvaluationClaim]:
    """Claims the evaluations that have been due longest; none without a live lease."""
    with engine.autocommit() as connection:
        claimed = claimed_rows.claim(connection, _CLAIM, worker_id, at_most)
        if not claimed:
            return []
        ids = [row["contribution_id"] or row["solution_id"] for row in claimed]
        texts = {id_: Text(content, tuple(links)) for id_, content, links in _TEXTS.run(connection, {"ids": ids})}
        if len(texts) < len(claimed):
            found = _SOLUTION_TEXTS.run(connection, {"ids": ids})
            texts |= {id_: text_of_solution(title, description) for id_, title, description in found}
    return [
        EvaluationClaim(
            row["id"],
            row["claim_token"],
            row["attempts"],
            texts[of_row_id],
            "contribution" if row["contribution_id"] else "solution",
        )
        for row, of_row_id in zip(claimed, ids, strict=True)
    ]


def text_of_solution(title: str, description: str) -> Text:
    return Text(f"{title}\n\n{description}", may_be_short=True)


def complete(connection: Connection, claimed: EvaluationClaim, opinion: Opinion, evaluator: str) -> bool:
    """Records the verdict once; false when the claim is lost."""
    values = verdict_values(opinion, evaluator)
    wanted = (evaluations.c.contribution_id, evaluations.c.solution_id)
    finished = claimed_rows.finish(connection, claimed_rows.EVALUATIONS, claimed.id, claimed.token, values, *wanted)
    if finished is None:
        return False
    if finished.solution_id is None:
        _set_status(connection, finished.contribution_id, opinion.verdict)
    else:
        # Not where a person has decided meanwhile.
        undecided = (solutions.c.id == finished.solution_id, solutions.c.guardrail_status == GuardrailStatus.PENDING)
        connection.execute(update(solutions).where(*undecided).values(guardrail_status=opinion.verdict.value))
    return True


def postpone(connection: Connection, claimed: EvaluationClaim, attempts: int, delay_seconds: float) -> bool:
    return claimed_rows.postpone(
        connection, claimed_rows.EVALUATIONS, claimed.id, claimed.token, delay_seconds, {"attempts": attempts}
    )


def decide(
    connection: Connection, evaluation_id: UUID, decision: GuardrailVerdict, decided_by: str, reason: str
) -> UUID | None:
    """Returns the contribution's id; None without a verdict, or when a person has already decided."""
    statement = (
        update(evaluations)
        .where(
            evaluations.c.id == evaluation_id,
            evaluations.c.contribution_id.is_not(None),
            evaluations.c.verdict.is_not(None),
            evaluations.c.decision.is_(None),
        )
        .values(decision=decision.value, decided_by=decided_by, decision_reason=reason, decided_at=_now)
        .returning(evaluations.c.contribution_id)
    )
    contribution_id: UUID | None = connection.execute(statement).scalar_one_or_none()
    if contribution_id is not None:
        _set_status(connection, contribution_id, decision)
    return contribution_id


def review(connection: Connection, evaluation_id: UUID) -> Review | None:
    row = connection.execute(_REVIEWS.where(evaluations.c.id == evaluation_id)).mappings().one_or_none()
    return _review(row) if row else None


def flagged(connection: Connection, after: tuple[datetime, UUID] | None, limit: int) -> list[Review]:
    """Evaluations that wait for a person, oldest first; one more than `limit` where there are more."""
    query = _REVIEWS.where(*_is_flagged)
    if after is not None:
        query = query.where(tuple_(evaluations.c.created_at, evaluations.c.id) > tuple_(*after))
    query = query.order_by(evaluations.c.created_at, evaluations.c.id).limit(limit + 1)
    return [_review(row) for row in connection.execute(query).mappings()]


def count_flagged(connection: Connection, at_most: int) -> int:
    return count(connection, select(evaluations.c.id).where(*_is_flagged), at_most)


def thread(connection: Connection, solution_id: UUID, after_position: int, limit: int) -> list[Review]:
    """A solution's contributions of every status, oldest first; one more than `limit` where there are more."""
    wanted = (contributions.c.solution_id == solution_id, contributions.c.position > after_position)
    query = _REVIEWS.where(*wanted).order_by(contributions.c.position).limit(limit + 1)
    return [_review(row) for row in connection.execute(query).mappings()]


def _set_status(connection: Connection, contribution_id: UUID, status: GuardrailVerdict) -> None:
    statement = update(contributions).where(contributions.c.id == contribution_id)
    connection.execute(statement.values(guardrail_status=status.value))


evaluation_rows = Mapped(Evaluation, id="evaluation_id", status="guardrail_status", created_at="evaluation_created_at")
"""Of rows with `OF_EVALUATION`, and the id and the status of the contribution or solution."""
OF_EVALUATION = (
    *(evaluations.c[name] for name in Evaluation.__slots__ if name not in ("id", "status", "created_at")),
    evaluations.c.created_at.label("evaluation_created_at"),
)
_REVIEWS = CONTRIBUTIONS.add_columns(*OF_EVALUATION)


def _review(row: RowMapping) -> Review:
    return Review(evaluation_rows.value(row), contribution_rows.value(row))
