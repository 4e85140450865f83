"""What the guardrail flagged, for the people who decide about it."""

from flask import Response
from flask_openapi3 import Tag

from app.core.guardrail.opinion import GuardrailVerdict
from app.http.access import current_caller
from app.http.blueprint import Blueprint
from app.http.solutions import answers, requests
from app.http.solutions.answers import solutions_page, solutions_success
from app.store.solutions.moderation import ModeratedSolution
from app.usecases.services import Services
from app.usecases.solutions import review

_TAG = Tag(name="guardrail", description="Contributions that wait for a person's decision")
_DECISIONS = {"approve": GuardrailVerdict.APPROVED, "reject": GuardrailVerdict.REJECTED}


def review_blueprint(services: Services) -> Blueprint:
    api = Blueprint("guardrail", __name__, abp_tags=[_TAG], **answers.COMMON)

    @api.get(
        "/guardrail/evaluations",
        summary="Flagged contributions that wait for a decision, oldest first",
        responses={200: answers.ReviewsAnswer},
    )
    def flagged(query: requests.PageQuery) -> tuple[Response, int]:
        page = review.list_flagged(services, current_caller(), query.limit, query.cursor)
        return solutions_page([answers.ReviewShape.of(one) for one in page.items], page.next_cursor)

    @api.get(
        "/guardrail/evaluations/<evaluationId>",
        summary="An evaluation with its contribution",
        responses={200: answers.ReviewAnswer},
    )
    def get(path: requests.EvaluationPath) -> tuple[Response, int]:
        return solutions_success(
            answers.ReviewShape.of(review.get_review(services, current_caller(), path.evaluation_id))
        )

    @api.post(
        "/guardrail/evaluations/<evaluationId>/decision",
        summary="Approve or reject; a decision is final",
        responses={200: answers.ReviewAnswer, 409: answers.SolutionsError},
    )
    def decide(path: requests.EvaluationPath, body: requests.DecisionBody) -> tuple[Response, int]:
        decision = _DECISIONS[body.decision]
        decided = review.decide(services, current_caller(), path.evaluation_id, decision, body.reason)
        return solutions_success(answers.ReviewShape.of(decided))

    @api.get(
        "/guardrail/solutions",
        summary="Flagged solutions that wait for a decision, oldest first",
        responses={200: answers.SolutionsAnswer},
    )
    def flagged_solutions(query: requests.PageQuery) -> tuple[Response, int]:
        page = review.list_flagged_solutions(services, current_caller(), query.limit, query.cursor)
        return solutions_page([answers.SolutionShape.of(one) for one in page.items], page.next_cursor)

    def detailed(found: ModeratedSolution) -> tuple[Response, int]:
        return solutions_success(answers.DetailedSolutionShape.of(found.solution, **answers.moderation_of(found)))

    @api.get(
        "/guardrail/solutions/<solutionId>",
        summary="A solution with its evaluation and the decisions about it",
        responses={200: answers.DetailedSolutionAnswer},
    )
    def get_solution(path: requests.SolutionPath) -> tuple[Response, int]:
        return detailed(review.get_solution(services, current_caller(), path.solution_id))

    @api.post(
        "/guardrail/solutions/<solutionId>/decision",
        summary="Show a solution to everybody, or hide it; a later decision replaces an earlier one",
        responses={200: answers.DetailedSolutionAnswer},
    )
    def decide_solution(path: requests.SolutionPath, body: requests.DecisionBody) -> tuple[Response, int]:
        decision = _DECISIONS[body.decision]
        return detailed(review.decide_solution(services, current_caller(), path.solution_id, decision, body.reason))

    return api
