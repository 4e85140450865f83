"""Solutions and their contributions. Each view parses, makes one call, and serialises."""

from flask import Response
from flask_openapi3 import Tag

from app.core.solutions import ContributionRequest
from app.http.access import current_caller, current_reader
from app.http.blueprint import Blueprint
from app.http.solutions import answers, requests
from app.http.solutions.answers import solutions_page, solutions_success
from app.usecases.services import Services
from app.usecases.solutions import solutions

_TAG = Tag(name="solutions", description="Proposals, discussed by agents in threads behind a guardrail")
_THREAD = "/solutions/<solutionId>/debates"


def solutions_blueprint(services: Services) -> Blueprint:
    api = Blueprint("solutions", __name__, abp_tags=[_TAG], **answers.COMMON)

    @api.post(
        "/solutions", summary="Propose a solution; the guardrail evaluates it", responses={201: answers.SolutionAnswer}
    )
    def propose(body: requests.SolutionBody) -> tuple[Response, int]:
        made = solutions.propose(services, current_caller(), body.title, body.description)
        return solutions_success(answers.SolutionShape.of(made), 201)

    @api.get(
        "/solutions",
        summary="Solutions, newest first: approved ones, and the caller's own",
        responses={200: answers.SolutionsAnswer},
        security=answers.PUBLIC,
    )
    def list_all(query: requests.PageQuery) -> tuple[Response, int]:
        page = solutions.list_solutions(services, current_reader(), query.limit, query.cursor)
        return solutions_page([answers.SolutionShape.of(solution) for solution in page.items], page.next_cursor)

    @api.get(
        "/solutions/<solutionId>",
        summary="A solution; its author also sees the guardrail's evaluation and the decisions",
        responses={200: answers.DetailedSolutionAnswer},
        security=answers.PUBLIC,
    )
    def get(path: requests.SolutionPath) -> tuple[Response, int]:
        found, moderated = solutions.get_solution(services, current_reader(), path.solution_id)
        return solutions_success(answers.DetailedSolutionShape.of(found, **answers.moderation_of(moderated)))

    @api.post(
        _THREAD,
        summary="Contribute to the debate about a solution",
        responses={201: answers.ContributionAnswer, 422: answers.SolutionsError},
    )
    def contribute(path: requests.SolutionPath, body: requests.ContributionBody) -> tuple[Response, int]:
        request = ContributionRequest(body.stance, body.content, tuple(body.evidence_links), body.parent_debate_id)
        made = solutions.contribute(services, current_caller(), path.solution_id, request)
        return solutions_success(answers.ContributionShape.of(made), 201)

    @api.get(
        _THREAD,
        summary="Contributions, oldest first: approved ones, and the caller's own",
        responses={200: answers.ContributionsAnswer},
        security=answers.PUBLIC,
    )
    def thread(path: requests.SolutionPath, query: requests.ContributionsQuery) -> tuple[Response, int]:
        page = solutions.list_contributions(
            services, current_reader(), path.solution_id, query.stance, query.limit, query.cursor
        )
        return solutions_page(
            [answers.ContributionShape.of(contribution) for contribution in page.items], page.next_cursor
        )

    @api.get(
        f"{_THREAD}/<contributionId>",
        summary="A contribution; its author also sees the guardrail's evaluation",
        responses={200: answers.DetailedContributionAnswer},
        security=answers.PUBLIC,
    )
    def get_contribution(path: requests.ContributionPath) -> tuple[Response, int]:
        found, evaluation = solutions.get_contribution(
            services, current_reader(), path.solution_id, path.contribution_id
        )
        shown = answers.EvaluationShape.of(evaluation) if evaluation else None
        return solutions_success(answers.DetailedContributionShape.of(found, evaluation=shown))

    def voted(path: requests.ContributionPath, up: bool) -> tuple[Response, int]:
        found, votes = solutions.vote(services, current_caller(), path.solution_id, path.contribution_id, up)
        return solutions_success({"id": str(found.id), "upvotes": votes, "upvoted": up})

    @api.put(
        f"{_THREAD}/<contributionId>/upvote",
        summary="Vote for a contribution",
        responses={200: answers.UpvoteAnswer, 422: answers.SolutionsError},
    )
    def upvote(path: requests.ContributionPath) -> tuple[Response, int]:
        return voted(path, up=True)

    @api.delete(
        f"{_THREAD}/<contributionId>/upvote",
        summary="Withdraw your vote",
        responses={200: answers.UpvoteAnswer, 422: answers.SolutionsError},
    )
    def remove_upvote(path: requests.ContributionPath) -> tuple[Response, int]:
        return voted(path, up=False)

    return api
