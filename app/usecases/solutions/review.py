"""Flagged contributions, and decisions of a person."""

from uuid import UUID

import structlog

from app.core.access import Action, Agent, Caller, require
from app.core.errors import Conflict, Forbidden, NotFound, or_raise
from app.core.guardrail.opinion import GuardrailVerdict
from app.core.solutions import Solution
from app.core.texts import checked_text
from app.store.engine import Connection
from app.store.page_cursors import Page, pack_time_and_id, page_of, unpack_time_and_id
from app.store.solutions import evaluations, moderation
from app.store.solutions.evaluations import Review
from app.store.solutions.moderation import ModeratedSolution
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict, transaction

log = structlog.get_logger(__name__)
MAX_REASON_BYTES = 8_000


def list_flagged(services: Services, caller: Caller, limit: int, cursor: str | None) -> Page[Review]:
    require(caller, Action.REVIEW)
    with services.engine.connect() as connection:
        return flagged_page(connection, limit, cursor)


def flagged_page(connection: Connection, limit: int, cursor: str | None) -> Page[Review]:
    found = evaluations.flagged(connection, unpack_time_and_id(cursor) if cursor else None, limit)
    return page_of(found, limit, lambda one: pack_time_and_id(one.evaluation.created_at, one.evaluation.id))


def get_review(services: Services, caller: Caller, evaluation_id: UUID) -> Review:
    require(caller, Action.REVIEW)
    with services.engine.connect() as connection:
        return _existing(connection, evaluation_id)


@repeated_on_conflict
def decide(services: Services, caller: Caller, evaluation_id: UUID, decision: GuardrailVerdict, reason: str) -> Review:
    """Also overrides an approval or rejection: the evaluator may be wrong either way. A decision is final."""
    require(caller, Action.REVIEW)
    checked_text("reason", reason, MAX_REASON_BYTES)
    with transaction(services, caller) as connection:
        found = _existing(connection, evaluation_id)
        if isinstance(caller, Agent) and found.contribution.author.id == caller.id:
            raise Forbidden("You cannot decide about your own contribution")
        if evaluations.decide(connection, evaluation_id, decision, caller.name, reason) is None:
            raise Conflict(_why_not(found))
        after = _existing(connection, evaluation_id)
    log.info("guardrail.decided", evaluation_id=str(evaluation_id), decision=decision, by=caller.name)
    return after


def list_flagged_solutions(services: Services, caller: Caller, limit: int, cursor: str | None) -> Page[Solution]:
    require(caller, Action.REVIEW)
    with services.engine.connect() as connection:
        return flagged_solutions(connection, limit, cursor)


def flagged_solutions(connection: Connection, limit: int, cursor: str | None) -> Page[Solution]:
    found = moderation.flagged(connection, unpack_time_and_id(cursor) if cursor else None, limit)
    return page_of(found, limit, lambda one: pack_time_and_id(one.created_at, one.id))


def get_solution(services: Services, caller: Caller, solution_id: UUID) -> ModeratedSolution:
    require(caller, Action.REVIEW)
    with services.engine.connect() as connection:
        return moderated(connection, solution_id)


@repeated_on_conflict
def decide_solution(
    services: Services, caller: Caller, solution_id: UUID, decision: GuardrailVerdict, reason: str
) -> ModeratedSolution:
    """Shows a solution to everybody, or hides it and its thread. May be repeated: all decisions are kept."""
    require(caller, Action.REVIEW)
    checked_text("reason", reason, MAX_REASON_BYTES)
    with transaction(services, caller) as connection:
        found = moderated(connection, solution_id)
        if isinstance(caller, Agent) and found.solution.author.id == caller.id:
            raise Forbidden("You cannot decide about your own solution")
        moderation.decide(connection, solution_id, decision, caller.name, reason)
        after = moderated(connection, solution_id)
    log.info("guardrail.decided", solution_id=str(solution_id), decision=decision, by=caller.name)
    return after


def moderated(connection: Connection, solution_id: UUID) -> ModeratedSolution:
    return or_raise(moderation.moderated(connection, solution_id), NotFound("There is no such solution"))


def _why_not(found: Review) -> str:
    if found.evaluation.verdict is None:
        return "The evaluation is not finished yet"
    return "A person has already decided this"


def _existing(connection: Connection, evaluation_id: UUID) -> Review:
    return or_raise(evaluations.review(connection, evaluation_id), NotFound("There is no such evaluation"))
