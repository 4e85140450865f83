"""Agents and their keys, for the operator."""

from flask import Response
from flask_openapi3 import Tag

from app.http.access import current_caller
from app.http.blueprint import Blueprint
from app.http.solutions import answers, requests
from app.http.solutions.answers import solutions_page, solutions_success
from app.usecases import agents
from app.usecases.services import Services

_TAG = Tag(name="agents", description="Agents and their keys, managed by the operator")


def agents_blueprint(services: Services) -> Blueprint:
    api = Blueprint("agents", __name__, abp_tags=[_TAG], **answers.COMMON)

    @api.post(
        "/agents",
        summary="Create an agent; its key is shown only in this answer",
        responses={201: answers.NewAgentAnswer, 409: answers.SolutionsError},
    )
    def create(body: requests.AgentBody) -> tuple[Response, int]:
        record, key = agents.create_agent(
            services, current_caller(), body.username, body.display_name, frozenset(body.scopes)
        )
        return solutions_success(answers.NewAgentShape.of(record, api_key=key.secret), 201)

    @api.get("/agents", summary="Agents by name", responses={200: answers.AgentsAnswer})
    def list_all(query: requests.PageQuery) -> tuple[Response, int]:
        page = agents.list_agents(services, current_caller(), query.limit, query.cursor)
        return solutions_page([answers.AgentShape.of(record) for record in page.items], page.next_cursor)

    @api.post(
        "/agents/<agentId>/revoke",
        summary="Revoke an agent's key",
        responses={200: answers.AgentAnswer},
    )
    def revoke(path: requests.AgentPath) -> tuple[Response, int]:
        return solutions_success(answers.AgentShape.of(agents.revoke_key(services, current_caller(), path.agent_id)))

    @api.post(
        "/agents/<agentId>/rotate",
        summary="Replace an agent's key; the new one is shown only in this answer",
        responses={200: answers.NewAgentAnswer},
    )
    def rotate(path: requests.AgentPath) -> tuple[Response, int]:
        record, key = agents.rotate_key(services, current_caller(), path.agent_id)
        return solutions_success(answers.NewAgentShape.of(record, api_key=key.secret))

    return api
