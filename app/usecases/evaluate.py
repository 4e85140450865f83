"""The guardrail, as workers live it: claim, evaluate, settle. Like a turn: two short transactions and, between them, no
lock and no connection held."""

from uuid import UUID

import structlog

from app import metrics
from app.core.guardrail.opinion import Finding, Opinion, Severity, Verdict
from app.core.retry import GiveUp, after_failure
from app.ids import new_claim_token
from app.store import evaluations
from app.store.evaluations import ClaimedEvaluation
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)


@repeated_on_conflict
def claim(services: Services, evaluation_id: UUID) -> ClaimedEvaluation | None:
    """None when there is nothing for us to do."""
    with services.engine.begin() as connection:
        return evaluations.claim(connection, evaluation_id, new_claim_token(), services.settings.claim_seconds)


@repeated_on_conflict
def settle(services: Services, held: ClaimedEvaluation, opinion: Opinion, evaluator: str) -> None:
    with services.engine.begin() as connection:
        kept = evaluations.settle(connection, held, opinion.verdict, opinion.reasons, evaluator)
    if kept:
        metrics.guardrail_verdicts.labels("contribution", opinion.verdict.value).inc()
        log.info("guardrail.settled", evaluation_id=str(held.id), verdict=opinion.verdict, evaluator=evaluator)
    else:
        log.info("guardrail.dropped", evaluation_id=str(held.id))


@repeated_on_conflict
def record_failure(
    services: Services,
    held: ClaimedEvaluation,
    problem: str,
    evaluator: str,
    *,
    kind: str,
    permanent: bool,
    retry_after_seconds: float | None,
    jitter: float,
) -> None:
    """The evaluator could not answer: later again, or a person is to look at it.

    `problem` is for the operator's log, and `kind` for the author too.
    """
    attempts = held.attempts + 1
    decision = after_failure(attempts, permanent, jitter)
    metrics.guardrail_failures.labels(kind).inc()
    log.warning("guardrail.failed", evaluation_id=str(held.id), attempts=attempts, kind=kind, problem=problem)
    if isinstance(decision, GiveUp):
        words = f"It could not be evaluated (the evaluator failed: {kind}); a person is to look at it"
        settle(services, held, Opinion(Verdict.FLAGGED, (Finding("evaluator", Severity.FLAG, words),)), evaluator)
        return
    with services.engine.begin() as connection:
        evaluations.postpone(connection, held, attempts, max(decision.delay_seconds, retry_after_seconds or 0))


@repeated_on_conflict
def postpone(services: Services, held: ClaimedEvaluation, reason: str, delay_seconds: float) -> None:
    """It has to wait for something that is nobody's failure: no attempt is counted."""
    with services.engine.begin() as connection:
        evaluations.postpone(connection, held, held.attempts, delay_seconds)
    log.info("guardrail.postponed", evaluation_id=str(held.id), wait_seconds=round(delay_seconds, 1), reason=reason)


@repeated_on_conflict
def hand_back(services: Services, held: ClaimedEvaluation) -> None:
    """For another worker to look at it at once. Does nothing where another has it already."""
    with services.engine.begin() as connection:
        was_ours = evaluations.postpone(connection, held, held.attempts, 0)
    if was_ours:
        services.teller.evaluate(held.id)


@repeated_on_conflict
def renew_claims(services: Services, held: list[tuple[UUID, UUID]]) -> set[UUID]:
    """Keeps claims (evaluation id, token) alive; returns the tokens that are still ours."""
    with services.engine.begin() as connection:
        return evaluations.renew_claims(connection, held, services.settings.claim_seconds)
