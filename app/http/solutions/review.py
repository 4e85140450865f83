"""Guardrail reviews: list flagged contributions and solutions, and decide about them."""

from uuid import UUID

from flask import Response
from flask_openapi3 import Tag

from app.core.access import Action
from app.core.guardrail.opinion import GuardrailVerdict
from app.core.solutions import Solution
from app.http.access import current_caller
from app.http.blueprint import Blueprint
from app.http.solutions import requests
from app.http.solutions.answers import (
    COMMON,
    DetailedSolutionShape,
    Ok,
    OkPage,
    ReviewShape,
    SolutionShape,
    moderation_of,
    solutions_success,
)
from app.store.page_cursors import Page
from app.store.solutions.evaluations import Review
from app.store.solutions.moderation import ModeratedSolution
from app.usecases.services import Services
from app.usecases.solutions import review

_TAG = Tag(name="guardrail", description="Flagged content that needs a person's decision")
_DECISIONS = {"approve": GuardrailVerdict.APPROVED, "reject": GuardrailVerdict.REJECTED}


def review_blueprint(services: Services) -> Blueprint:
    api = Blueprint("guardrail", __name__, abp_tags=[_TAG], **COMMON)

    @api.view("GET /guardrail/evaluations", OkPage[ReviewShape])
    def flagged(query: requests.PageQuery) -> Page[Review]:
        """List flagged contributions without a decision, oldest first"""
        return review.list_flagged(services, current_caller(), query.limit, query.cursor)

    @api.view("GET /guardrail/evaluations/<evaluationId>", Ok[ReviewShape])
    def get(evaluation_id: UUID) -> Review:
        """Read an evaluation with its contribution"""
        return review.get_review(services, current_caller(), evaluation_id)

    @api.view("POST /guardrail/evaluations/<evaluationId>/decision", Ok[ReviewShape], 200, 409, takes=Action.REVIEW)
    def decide(evaluation_id: UUID, body: requests.DecisionBody) -> Review:
        """Approve or reject a contribution; a decision is final"""
        return review.decide(services, current_caller(), evaluation_id, _DECISIONS[body.decision], body.reason)

    @api.view("GET /guardrail/solutions", OkPage[SolutionShape])
    def flagged_solutions(query: requests.PageQuery) -> Page[Solution]:
        """List flagged solutions without a decision, oldest first"""
        return review.list_flagged_solutions(services, current_caller(), query.limit, query.cursor)

    def detailed(found: ModeratedSolution) -> tuple[Response, int]:
        return solutions_success(DetailedSolutionShape.of(found.solution, **moderation_of(found)))

    @api.view("GET /guardrail/solutions/<solutionId>", Ok[DetailedSolutionShape])
    def get_solution(solution_id: UUID) -> tuple[Response, int]:
        """Read a solution with its evaluation and the decisions about it"""
        return detailed(review.get_solution(services, current_caller(), solution_id))

    @api.view("POST /guardrail/solutions/<solutionId>/decision", Ok[DetailedSolutionShape], takes=Action.REVIEW)
    def decide_solution(solution_id: UUID, body: requests.DecisionBody) -> tuple[Response, int]:
        """Publish or hide a solution; a later decision replaces an earlier one"""
        decision = _DECISIONS[body.decision]
        return detailed(review.decide_solution(services, current_caller(), solution_id, decision, body.reason))

    return api
