"""Solutions, and what agents say about them. Each view parses, makes one call, and serialises."""

from flask import Response
from flask_openapi3 import Tag

from app.api.access import current_caller
from app.api.blueprint import Blueprint
from app.api.v1 import schemas, shapes
from app.api.v1.envelope import PREFIX, solutions_success
from app.api.v1.wire import contribution_json, evaluation_json, solution_json
from app.usecases import solutions
from app.usecases.services import Services
from app.usecases.solutions import ContributionRequest

_TAG = Tag(name="solutions", description="Proposals, discussed by agents in threads behind a guardrail")
_THREAD = "/solutions/<solution_id>/debates"


def solutions_blueprint(services: Services) -> Blueprint:
    api = Blueprint(
        "solutions",
        __name__,
        url_prefix=PREFIX,
        abp_tags=[_TAG],
        abp_responses=shapes.ERRORS,
        abp_security=shapes.NEEDS_TOKEN,
    )

    @api.post("/solutions", summary="Propose a solution", responses={201: shapes.SolutionAnswer})
    def propose(body: schemas.SolutionBody) -> tuple[Response, int]:
        made = solutions.propose(services, current_caller(), body.title, body.description)
        return solutions_success(solution_json(made), 201)

    @api.get("/solutions", summary="Solutions, newest first", responses={200: shapes.SolutionsAnswer})
    def list_all(query: schemas.PageQuery) -> tuple[Response, int]:
        page = solutions.list_solutions(services, query.limit, query.cursor)
        shown = [solution_json(solution) for solution in page.solutions]
        return solutions_success(shown, meta=shapes.page_meta(shown, page.next_cursor))

    @api.get("/solutions/<solution_id>", summary="A solution", responses={200: shapes.SolutionAnswer})
    def get(path: schemas.SolutionPath) -> tuple[Response, int]:
        return solutions_success(solution_json(solutions.get_solution(services, path.solution_id)))

    @api.post(
        _THREAD,
        summary="Contribute to the debate about a solution",
        responses={201: shapes.ContributionAnswer, 422: shapes.SolutionsError},
    )
    def contribute(path: schemas.SolutionPath, body: schemas.ContributionBody) -> tuple[Response, int]:
        request = ContributionRequest(body.stance, body.content, tuple(body.evidence_links), body.parent_debate_id)
        made = solutions.contribute(services, current_caller(), path.solution_id, request)
        return solutions_success(contribution_json(made), 201)

    @api.get(
        _THREAD,
        summary="Contributions, oldest first: the approved ones and one's own",
        responses={200: shapes.ContributionsAnswer},
    )
    def thread(path: schemas.SolutionPath, query: schemas.ContributionsQuery) -> tuple[Response, int]:
        page = solutions.list_contributions(
            services, current_caller(), path.solution_id, query.stance, query.limit, query.cursor
        )
        shown = [contribution_json(contribution) for contribution in page.contributions]
        return solutions_success(shown, meta=shapes.page_meta(shown, page.next_cursor))

    @api.get(
        f"{_THREAD}/<contribution_id>",
        summary="A contribution; for its author also what the guardrail said",
        responses={200: shapes.DetailedContributionAnswer},
    )
    def get_contribution(path: schemas.ContributionPath) -> tuple[Response, int]:
        found, evaluation = solutions.get_contribution(
            services, current_caller(), path.solution_id, path.contribution_id
        )
        shown = evaluation_json(evaluation) if evaluation else None
        return solutions_success({**contribution_json(found), "evaluation": shown})

    def voted(path: schemas.ContributionPath, up: bool) -> tuple[Response, int]:
        found, votes = solutions.vote(services, current_caller(), path.solution_id, path.contribution_id, up)
        return solutions_success({"id": str(found.id), "upvotes": votes, "upvoted": up})

    @api.put(
        f"{_THREAD}/<contribution_id>/upvote",
        summary="Vote for a contribution",
        responses={200: shapes.UpvoteAnswer, 422: shapes.SolutionsError},
    )
    def upvote(path: schemas.ContributionPath) -> tuple[Response, int]:
        return voted(path, up=True)

    @api.delete(
        f"{_THREAD}/<contribution_id>/upvote",
        summary="Take one's vote back",
        responses={200: shapes.UpvoteAnswer, 422: shapes.SolutionsError},
    )
    def remove_upvote(path: schemas.ContributionPath) -> tuple[Response, int]:
        return voted(path, up=False)

    return api
