"""Evaluations by workers: claim, evaluate, record, in two short transactions."""

import structlog

from app.core.claims import Room
from app.core.guardrail.opinion import EvaluationClaim, Finding, GuardrailVerdict, Opinion, Severity
from app.core.retry import NotNow, PlayerError, after_failure
from app.observe import metrics
from app.store.solutions import evaluations
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)


@repeated_on_conflict
def claim(services: Services, worker_id: str, room: Room) -> list[EvaluationClaim]:
    """Claims the evaluations that have been due longest. All have the same share."""
    return [] if room.full else evaluations.claim(services.engine, worker_id, room.of_any)


@repeated_on_conflict
def record(services: Services, held: EvaluationClaim, opinion: Opinion, evaluator: str) -> None:
    with services.engine.begin() as connection:
        kept = evaluations.complete(connection, held, opinion, evaluator)
    if kept:
        metrics.guardrail_verdicts.labels(held.about, opinion.verdict.value).inc()
        log.info("guardrail.settled", evaluation_id=str(held.id), verdict=opinion.verdict, evaluator=evaluator)
    else:
        log.info("guardrail.dropped", evaluation_id=str(held.id))


@repeated_on_conflict
def record_failure(
    services: Services, held: EvaluationClaim, problem: PlayerError, jitter: float, evaluator: str
) -> None:
    """The evaluator failed: it is retried, or the contribution is flagged. The author sees only the problem's kind."""
    attempts = held.attempts + 1
    kind, words = problem.kind, problem.message
    delay_seconds = after_failure(attempts, problem.permanent, jitter)
    metrics.guardrail_failures.labels(kind).inc()
    log.warning("guardrail.failed", evaluation_id=str(held.id), attempts=attempts, kind=kind, problem=words)
    if delay_seconds is None:
        words = f"It could not be evaluated (the evaluator failed: {kind}); a person has to decide"
        record(
            services, held, Opinion(GuardrailVerdict.FLAGGED, (Finding("evaluator", Severity.FLAG, words),)), evaluator
        )
        return
    with services.engine.begin() as connection:
        evaluations.postpone(connection, held, attempts, max(delay_seconds, problem.retry_after_seconds or 0))


@repeated_on_conflict
def postpone(services: Services, held: EvaluationClaim, reason: NotNow) -> None:
    with services.engine.begin() as connection:
        evaluations.postpone(connection, held, held.attempts, reason.delay_seconds)
    wait_seconds = round(reason.delay_seconds, 1)
    log.info("guardrail.postponed", evaluation_id=str(held.id), wait_seconds=wait_seconds, reason=reason.message)
