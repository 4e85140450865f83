"""The guardrail, as workers live it: claim, evaluate, settle. Like a turn: two short transactions and, between them, no
lock and no connection held."""

from uuid import UUID

import structlog

from app.core.guardrail.opinion import Finding, Opinion, Severity, Verdict
from app.core.retry import GiveUp, after_failure
from app.ids import new_claim_token
from app.store import evaluations
from app.store.evaluations import ClaimedEvaluation
from app.usecases.services import Services

log = structlog.get_logger(__name__)


def claim(services: Services, evaluation_id: UUID) -> ClaimedEvaluation | None:
    """None when there is nothing for us to do."""
    with services.engine.begin() as connection:
        return evaluations.claim(connection, evaluation_id, new_claim_token(), services.settings.claim_seconds)


def settle(services: Services, held: ClaimedEvaluation, opinion: Opinion, evaluator: str) -> None:
    with services.engine.begin() as connection:
        kept = evaluations.settle(connection, held, opinion.verdict, opinion.reasons, evaluator)
    if kept:
        log.info("guardrail.settled", evaluation_id=str(held.id), verdict=opinion.verdict, evaluator=evaluator)
    else:
        log.info("guardrail.dropped", evaluation_id=str(held.id))


def record_failure(services: Services, held: ClaimedEvaluation, problem: str, evaluator: str, jitter: float) -> None:
    """The evaluator could not answer: later again, or a person is to look at it."""
    attempts = held.attempts + 1
    log.warning("guardrail.failed", evaluation_id=str(held.id), attempts=attempts, problem=problem)
    decision = after_failure(attempts, False, jitter)
    if isinstance(decision, GiveUp):
        reason = Finding("evaluator", Severity.FLAG, "It could not be evaluated; a person is to look at it")
        settle(services, held, Opinion(Verdict.FLAGGED, (reason,)), evaluator)
        return
    with services.engine.begin() as connection:
        evaluations.postpone(connection, held, attempts, decision.delay_seconds)
