"""What the guardrail flagged, for the people who decide about it."""

from flask import Response
from flask_openapi3 import Tag

from app.api.access import current_caller
from app.api.blueprint import Blueprint
from app.api.v1 import schemas, shapes
from app.api.v1.envelope import PREFIX, solutions_success
from app.api.v1.wire import review_json
from app.core.guardrail.opinion import Verdict
from app.usecases import review
from app.usecases.services import Services

_TAG = Tag(name="guardrail", description="Contributions that wait for a person's decision")
_DECISIONS = {"approve": Verdict.APPROVED, "reject": Verdict.REJECTED}


def review_blueprint(services: Services) -> Blueprint:
    api = Blueprint(
        "guardrail",
        __name__,
        url_prefix=PREFIX,
        abp_tags=[_TAG],
        abp_responses=shapes.ERRORS,
        abp_security=shapes.NEEDS_TOKEN,
    )

    @api.get(
        "/guardrail/evaluations",
        summary="What was flagged and not decided yet, oldest first",
        responses={200: shapes.ReviewsAnswer},
    )
    def flagged(query: schemas.PageQuery) -> tuple[Response, int]:
        page = review.list_flagged(services, current_caller(), query.limit, query.cursor)
        shown = [review_json(one) for one in page.reviews]
        return solutions_success(shown, meta=shapes.page_meta(shown, page.next_cursor))

    @api.get(
        "/guardrail/evaluations/<evaluation_id>",
        summary="An evaluation with its contribution",
        responses={200: shapes.ReviewAnswer},
    )
    def get(path: schemas.EvaluationPath) -> tuple[Response, int]:
        return solutions_success(review_json(review.get_review(services, current_caller(), path.evaluation_id)))

    @api.post(
        "/guardrail/evaluations/<evaluation_id>/decision",
        summary="Approve or reject, once and for all",
        responses={200: shapes.ReviewAnswer, 409: shapes.SolutionsError},
    )
    def decide(path: schemas.EvaluationPath, body: schemas.DecisionBody) -> tuple[Response, int]:
        decision = _DECISIONS[body.decision]
        decided = review.decide(services, current_caller(), path.evaluation_id, decision, body.reason)
        return solutions_success(review_json(decided))

    return api
