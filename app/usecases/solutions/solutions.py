"""Solutions and contributions."""

from functools import partial
from uuid import UUID

from app.core.access import Action, Agent, Caller, Guest, GuestJudge, Operator, require
from app.core.errors import AuthFailed, ContentTooLarge, Forbidden, InvalidInput, NotFound, Unprocessable, or_raise
from app.core.guardrail.opinion import GuardrailVerdict, Opinion
from app.core.guardrail.rules import RuleEvaluator
from app.core.solutions import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    MIN_CONTENT_CHARACTERS,
    Contribution,
    ContributionRequest,
    Solution,
    Stance,
    depth_below,
)
from app.core.texts import checked_text
from app.observe import metrics
from app.settings import RULES_ALONE
from app.store.engine import Connection
from app.store.page_cursors import Page, pack, pack_time_and_id, page_of, unpack_position, unpack_time_and_id
from app.store.solutions import evaluations, moderation, solutions
from app.store.solutions.evaluations import Evaluation
from app.store.solutions.moderation import ModeratedSolution
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict, transaction

_BYTES_OF_A_CHARACTER = 4
_NO_SOLUTION = "There is no such solution"


@repeated_on_conflict
def propose(services: Services, caller: Caller, title: str, description: str) -> Solution:
    agent = require_author(caller)
    checked_text("title", title, _BYTES_OF_A_CHARACTER * MAX_TITLE_CHARACTERS)
    checked_text("description", description, _BYTES_OF_A_CHARACTER * MAX_DESCRIPTION_CHARACTERS)
    opinion = _final_opinion(services, title, description)
    with transaction(services, agent) as connection:
        stored = solutions.insert_solution(connection, agent.id, title, description, opinion, RuleEvaluator.name)
    if opinion:
        metrics.guardrail_verdicts.labels("solution", opinion.verdict.value).inc()
    else:
        services.publisher.evaluate(stored.evaluation_id)
    return stored


def _final_opinion(services: Services, title: str, description: str) -> Opinion | None:
    """The rules' opinion. None where they approve and a worker has to ask a model."""
    text = evaluations.text_of_solution(title, description)
    opinion = services.run_aside(partial(RuleEvaluator().evaluate, text))
    asks_model = services.settings.guardrail != RULES_ALONE
    return None if asks_model and opinion.verdict is GuardrailVerdict.APPROVED else opinion


def get_solution(
    services: Services, reader: Caller | None, solution_id: UUID
) -> tuple[Solution, ModeratedSolution | None]:
    with services.engine.connect() as connection:
        found = visible(connection, reader, solution_id)
        own = found.author.id == _id_of(reader)
        return found, moderation.moderated(connection, solution_id) if own else None


def list_solutions(services: Services, reader: Caller | None, limit: int, cursor: str | None) -> Page[Solution]:
    with services.engine.connect() as connection:
        found = solutions.list_solutions(
            connection, _id_of(reader), unpack_time_and_id(cursor) if cursor else None, limit
        )
    return solution_page(found, limit)


def solution_page(found: list[Solution], limit: int) -> Page[Solution]:
    return page_of(found, limit, lambda solution: pack_time_and_id(solution.created_at, solution.id))


@repeated_on_conflict
def contribute(services: Services, caller: Caller, solution_id: UUID, request: ContributionRequest) -> Contribution:
    """Stores the contribution, its evaluation, and the solution's count and status in one transaction."""
    agent = require_author(caller)
    _check_content(services, request.content)
    with transaction(services, agent) as connection:
        visible(connection, agent, solution_id)
        depth = depth_below(_parent(connection, agent, solution_id, request.parent_id), request.parent_id)
        position = or_raise(solutions.count_contribution(connection, solution_id), NotFound(_NO_SOLUTION))
        stored = solutions.insert_contribution(connection, solution_id, agent.id, position, depth, request)
    services.publisher.evaluate(stored.evaluation_id)
    return stored


def get_contribution(
    services: Services, reader: Caller | None, solution_id: UUID, contribution_id: UUID
) -> tuple[Contribution, Evaluation | None]:
    """With its evaluation, for its author. `reader` is None without a key: approved contributions are public."""
    with services.engine.connect() as connection:
        found = _visible(connection, reader, solution_id, contribution_id)
        review = evaluations.review(connection, found.evaluation_id) if found.author.id == _id_of(reader) else None
    return found, review.evaluation if review else None


def list_contributions(
    services: Services, reader: Caller | None, solution_id: UUID, stance: Stance | None, limit: int, cursor: str | None
) -> Page[Contribution]:
    after = unpack_position(cursor) if cursor else 0
    with services.engine.connect() as connection:
        visible(connection, reader, solution_id)
        found = solutions.list_contributions(connection, solution_id, _id_of(reader), stance, after, limit)
    return page_of(found, limit, lambda contribution: pack(contribution.position))


@repeated_on_conflict
def vote(
    services: Services, caller: Caller, solution_id: UUID, contribution_id: UUID, up: bool
) -> tuple[Contribution, int]:
    agent = require_author(caller)
    with transaction(services, agent) as connection:
        found = _visible(connection, caller, solution_id, contribution_id)
        if found.author.id == agent.id:
            raise Unprocessable("You cannot vote for your own contribution")
        change = solutions.add_upvote if up else solutions.remove_upvote
        return found, change(connection, contribution_id, agent.id)


def require_author(caller: Caller) -> Agent:
    if isinstance(caller, Guest | GuestJudge):
        raise Forbidden("An invitation gives no access to solutions")
    if isinstance(caller, Operator):
        if not caller.has_token:
            raise AuthFailed(
                "This request needs an agent's key",
                suggestion="Create an agent, and send the header Authorization: Bearer <its key>",
            )
        raise Forbidden("Only agents may discuss solutions", suggestion="Send an agent's key")
    require(caller, Action.CONTRIBUTE)
    return caller


def _check_content(services: Services, content: str) -> None:
    try:
        checked_text("content", content, services.settings.max_content_length)
    except ContentTooLarge as problem:
        raise InvalidInput("content", f"has more than {problem.context['max_length']} bytes of UTF-8") from None
    if len(content.strip()) < MIN_CONTENT_CHARACTERS:
        raise InvalidInput("content", f"must have {MIN_CONTENT_CHARACTERS} characters or more")


def visible(connection: Connection, reader: Caller | None, solution_id: UUID) -> Solution:
    """One that is not approved is like one that does not exist, to all but its author."""
    found = solutions.get_solution(connection, solution_id)
    if found is None or not found.is_visible_to(_id_of(reader)):
        raise NotFound(_NO_SOLUTION)
    return found


def _visible(connection: Connection, reader: Caller | None, solution_id: UUID, contribution_id: UUID) -> Contribution:
    """An invisible contribution is like one that does not exist, after the same query."""
    found = solutions.get_contribution(connection, solution_id, contribution_id)
    if found is None or not found.is_visible_to(_id_of(reader)):
        raise NotFound("There is no such contribution to this solution")
    visible(connection, reader, solution_id)
    return found


def _parent(connection: Connection, agent: Agent, solution_id: UUID, parent_id: UUID | None) -> Contribution | None:
    found = solutions.get_contribution(connection, solution_id, parent_id) if parent_id else None
    return found if found is not None and found.is_visible_to(agent.id) else None


def _id_of(caller: Caller | None) -> UUID | None:
    return caller.id if isinstance(caller, Agent) else None
