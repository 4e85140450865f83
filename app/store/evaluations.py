"""The guardrail's evaluations: claimed, settled once, swept when nobody looks at them, and decided by a person.

`due_at` says when somebody should look next: at once when it is new, when the claim lapses while a worker evaluates it,
after a delay when that failed, and never once there is a verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, func, null, or_, select, tuple_, update
from sqlalchemy.engine import RowMapping

from app.core.guardrail.opinion import Finding, Severity, Text, Verdict
from app.core.solutions import Contribution, GuardrailStatus
from app.store.solution_tables import contributions, evaluations
from app.store.solutions import CONTRIBUTIONS, contribution_of

_now = func.clock_timestamp()


@dataclass(frozen=True, slots=True)
class ClaimedEvaluation:
    id: UUID
    token: UUID
    attempts: int
    text: Text


@dataclass(frozen=True, slots=True)
class Evaluation:
    id: UUID
    status: GuardrailStatus
    verdict: Verdict | None
    reasons: tuple[Finding, ...]
    evaluator: str | None
    evaluated_at: datetime | None
    decision: Verdict | None
    decided_by: str | None
    decision_reason: str | None
    decided_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Review:
    """A contribution with what the guardrail and a person said about it."""

    evaluation: Evaluation
    contribution: Contribution


def claim(connection: Connection, evaluation_id: UUID, token: UUID, seconds: float) -> ClaimedEvaluation | None:
    """None when there is nothing to do: it is settled, another worker is at it, or it is to wait."""
    statement = (
        update(evaluations)
        .where(evaluations.c.id == evaluation_id, evaluations.c.due_at <= _now, evaluations.c.verdict.is_(None))
        .values(claim_token=token, due_at=_now + timedelta(seconds=seconds), queued_at=null())
        .returning(evaluations.c.contribution_id, evaluations.c.attempts)
    )
    claimed = connection.execute(statement).one_or_none()
    if claimed is None:
        return None
    content, links = connection.execute(
        select(contributions.c.content, contributions.c.evidence_links).where(
            contributions.c.id == claimed.contribution_id
        )
    ).one()
    return ClaimedEvaluation(evaluation_id, token, claimed.attempts, Text(content, tuple(links)))


def settle(
    connection: Connection, held: ClaimedEvaluation, verdict: Verdict, reasons: Sequence[Finding], evaluator: str
) -> bool:
    """Records the verdict once; false when the claim is lost."""
    values = {
        "verdict": verdict.value,
        "reasons": [
            {"rule": reason.rule, "severity": reason.severity.value, "message": reason.message} for reason in reasons
        ],
        "evaluator": evaluator,
        "evaluated_at": _now,
        "claim_token": null(),
        "due_at": null(),
        "queued_at": null(),
    }
    contribution_id = _change_held(connection, held, values)
    if contribution_id is None:
        return False
    _set_status(connection, contribution_id, verdict)
    return True


def postpone(connection: Connection, held: ClaimedEvaluation, attempts: int, delay_seconds: float) -> bool:
    due_at = _now + timedelta(seconds=delay_seconds)
    values = {"attempts": attempts, "claim_token": null(), "due_at": due_at, "queued_at": null()}
    return _change_held(connection, held, values) is not None


def renew_claims(connection: Connection, held: Sequence[tuple[UUID, UUID]], seconds: float) -> set[UUID]:
    """Extends the claims (evaluation id, token) that are still ours; returns their tokens."""
    statement = (
        update(evaluations)
        .where(tuple_(evaluations.c.id, evaluations.c.claim_token).in_(held))
        .values(due_at=_now + timedelta(seconds=seconds))
        .returning(evaluations.c.claim_token)
    )
    return set(connection.execute(statement).scalars())


def decide(connection: Connection, evaluation_id: UUID, decision: Verdict, decided_by: str, reason: str) -> UUID | None:
    """The contribution that it was about; None when the evaluator has not spoken, or a person has."""
    statement = (
        update(evaluations)
        .where(evaluations.c.id == evaluation_id, evaluations.c.verdict.is_not(None), evaluations.c.decision.is_(None))
        .values(decision=decision.value, decided_by=decided_by, decision_reason=reason, decided_at=_now)
        .returning(evaluations.c.contribution_id)
    )
    contribution_id: UUID | None = connection.execute(statement).scalar_one_or_none()
    if contribution_id is not None:
        _set_status(connection, contribution_id, decision)
    return contribution_id


def review(connection: Connection, evaluation_id: UUID) -> Review | None:
    row = connection.execute(REVIEWS.where(evaluations.c.id == evaluation_id)).mappings().one_or_none()
    return review_of(row) if row else None


def flagged(connection: Connection, after: tuple[datetime, UUID] | None, limit: int) -> list[Review]:
    """What waits for a person, oldest first; one more than `limit` where there are more."""
    query = REVIEWS.where(evaluations.c.verdict == Verdict.FLAGGED, evaluations.c.decision.is_(None))
    if after is not None:
        query = query.where(tuple_(evaluations.c.created_at, evaluations.c.id) > tuple_(*after))
    query = query.order_by(evaluations.c.created_at, evaluations.c.id).limit(limit + 1)
    return [review_of(row) for row in connection.execute(query).mappings()]


def count_due(connection: Connection, at_most: int) -> int:
    due = select(evaluations.c.id).where(evaluations.c.due_at <= func.now()).limit(at_most).subquery()
    return connection.execute(select(func.count()).select_from(due)).scalar() or 0


def take_due(connection: Connection, queued_before_seconds: float | None, at_most: int) -> list[UUID]:
    """As `sweeping.take_due`, for evaluations."""
    queued: ColumnElement[bool] = evaluations.c.queued_at.is_(None)
    if queued_before_seconds is not None:
        queued = or_(queued, evaluations.c.queued_at <= func.now() - timedelta(seconds=queued_before_seconds))
    due = (
        select(evaluations.c.id)
        .where(evaluations.c.due_at <= func.now(), queued)
        .order_by(evaluations.c.due_at)
        .limit(at_most)
        .with_for_update(skip_locked=True)
    )
    found = list(connection.execute(due).scalars())
    if found:
        connection.execute(update(evaluations).where(evaluations.c.id.in_(found)).values(queued_at=func.now()))
    return found


def _change_held(connection: Connection, held: ClaimedEvaluation, values: dict[str, Any]) -> UUID | None:
    statement = (
        update(evaluations)
        .where(evaluations.c.id == held.id, evaluations.c.claim_token == held.token)
        .values(values)
        .returning(evaluations.c.contribution_id)
    )
    contribution_id: UUID | None = connection.execute(statement).scalar_one_or_none()
    return contribution_id


def _set_status(connection: Connection, contribution_id: UUID, status: Verdict) -> None:
    statement = update(contributions).where(contributions.c.id == contribution_id)
    connection.execute(statement.values(guardrail_status=status.value))


_OF_EVALUATION = (
    "verdict",
    "reasons",
    "evaluator",
    "evaluated_at",
    "decision",
    "decided_by",
    "decision_reason",
    "decided_at",
)
REVIEWS = CONTRIBUTIONS.add_columns(
    *(evaluations.c[name] for name in _OF_EVALUATION), evaluations.c.created_at.label("evaluation_created_at")
)


def review_of(row: RowMapping) -> Review:
    evaluation = Evaluation(
        id=row["evaluation_id"],
        status=GuardrailStatus(row["guardrail_status"]),
        verdict=Verdict(row["verdict"]) if row["verdict"] else None,
        reasons=tuple(
            Finding(reason["rule"], Severity(reason["severity"]), reason["message"]) for reason in row["reasons"]
        ),
        evaluator=row["evaluator"],
        evaluated_at=row["evaluated_at"],
        decision=Verdict(row["decision"]) if row["decision"] else None,
        decided_by=row["decided_by"],
        decision_reason=row["decision_reason"],
        decided_at=row["decided_at"],
        created_at=row["evaluation_created_at"],
    )
    return Review(evaluation, contribution_of(row))
