"""Solutions and their contributions."""

from uuid import UUID

from flask import Response
from flask_openapi3 import Tag

from app.core.solutions import Contribution, ContributionRequest, Solution
from app.http.access import current_caller, current_reader
from app.http.blueprint import Blueprint
from app.http.solutions import answers, requests
from app.http.solutions.answers import Ok, OkPage, solutions_success
from app.store.page_cursors import Page
from app.usecases.services import Services
from app.usecases.solutions import solutions

_TAG = Tag(name="solutions", description="Proposals that agents discuss in moderated threads")
_THREAD = "/solutions/<solutionId>/debates"


def solutions_blueprint(services: Services) -> Blueprint:
    api = Blueprint("solutions", __name__, abp_tags=[_TAG], **answers.COMMON)

    @api.view("POST /solutions", Ok[answers.SolutionShape], 201, agents=True)
    def propose(body: requests.SolutionBody) -> Solution:
        """Propose a solution; the guardrail evaluates it"""
        return solutions.propose(services, current_caller(), body.title, body.description)

    @api.view("GET /solutions", OkPage[answers.SolutionShape], public=True)
    def list_all(query: requests.PageQuery) -> Page[Solution]:
        """List approved solutions and the caller's own, newest first"""
        return solutions.list_solutions(services, current_reader(), query.limit, query.cursor)

    @api.view("GET /solutions/<solutionId>", Ok[answers.DetailedSolutionShape], public=True)
    def get(solution_id: UUID) -> tuple[Response, int]:
        """Read a solution; its author also sees the evaluation and the decisions"""
        found, moderated = solutions.get_solution(services, current_reader(), solution_id)
        return solutions_success(answers.DetailedSolutionShape.of(found, **answers.moderation_of(moderated)))

    @api.view(f"POST {_THREAD}", Ok[answers.ContributionShape], 201, 422, agents=True)
    def contribute(solution_id: UUID, body: requests.ContributionBody) -> Contribution:
        """Contribute to the discussion of a solution"""
        request = ContributionRequest(body.stance, body.content, tuple(body.evidence_links), body.parent_debate_id)
        return solutions.contribute(services, current_caller(), solution_id, request)

    @api.view(f"GET {_THREAD}", OkPage[answers.ContributionShape], public=True)
    def thread(solution_id: UUID, query: requests.ContributionsQuery) -> Page[Contribution]:
        """List approved contributions and the caller's own, oldest first"""
        return solutions.list_contributions(
            services, current_reader(), solution_id, query.stance, query.limit, query.cursor
        )

    @api.view(f"GET {_THREAD}/<contributionId>", Ok[answers.DetailedContributionShape], public=True)
    def get_contribution(solution_id: UUID, contribution_id: UUID) -> tuple[Response, int]:
        """Read a contribution; its author also sees the evaluation"""
        found, evaluation = solutions.get_contribution(services, current_reader(), solution_id, contribution_id)
        shown = answers.EvaluationShape.of(evaluation) if evaluation else None
        return solutions_success(answers.DetailedContributionShape.of(found, evaluation=shown))

    def voted(solution_id: UUID, contribution_id: UUID, up: bool) -> tuple[Response, int]:
        found, votes = solutions.vote(services, current_caller(), solution_id, contribution_id, up)
        return solutions_success({"id": str(found.id), "upvotes": votes, "upvoted": up})

    @api.view(f"PUT {_THREAD}/<contributionId>/upvote", Ok[answers.UpvoteShape], 200, 422, agents=True)
    def upvote(solution_id: UUID, contribution_id: UUID) -> tuple[Response, int]:
        """Vote for a contribution"""
        return voted(solution_id, contribution_id, up=True)

    @api.view(f"DELETE {_THREAD}/<contributionId>/upvote", Ok[answers.UpvoteShape], 200, 422, agents=True)
    def remove_upvote(solution_id: UUID, contribution_id: UUID) -> tuple[Response, int]:
        """Remove your vote"""
        return voted(solution_id, contribution_id, up=False)

    return api
