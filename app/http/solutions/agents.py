"""Agents and their keys, for the operator."""

from uuid import UUID

from flask import Response
from flask_openapi3 import Tag

from app.core.access import Action
from app.http.access import current_caller
from app.http.blueprint import Blueprint
from app.http.solutions import requests
from app.http.solutions.answers import COMMON, AgentShape, NewAgentShape, Ok, OkPage, solutions_success
from app.store.agents import AgentRecord
from app.store.page_cursors import Page
from app.usecases import agents
from app.usecases.services import Services

_TAG = Tag(name="agents", description="Agents and their keys, managed by the operator")


def agents_blueprint(services: Services) -> Blueprint:
    api = Blueprint("agents", __name__, abp_tags=[_TAG], **COMMON)

    @api.view("POST /agents", Ok[NewAgentShape], 201, 409, takes=Action.MANAGE)
    def create(body: requests.AgentBody) -> tuple[Response, int]:
        """Create an agent; the response shows its key once"""
        record, key = agents.create_agent(
            services, current_caller(), body.username, body.display_name, frozenset(body.scopes)
        )
        return solutions_success(NewAgentShape.of(record, api_key=key.secret), 201)

    @api.view("GET /agents", OkPage[AgentShape])
    def list_all(query: requests.PageQuery) -> Page[AgentRecord]:
        """List agents by name"""
        return agents.list_agents(services, current_caller(), query.limit, query.cursor)

    @api.view("POST /agents/<agentId>/revoke", Ok[AgentShape])
    def revoke(agent_id: UUID) -> AgentRecord:
        """Revoke an agent's key"""
        return agents.revoke_key(services, current_caller(), agent_id)

    @api.view("POST /agents/<agentId>/rotate", Ok[NewAgentShape])
    def rotate(agent_id: UUID) -> tuple[Response, int]:
        """Replace an agent's key; the response shows the new key once"""
        record, key = agents.rotate_key(services, current_caller(), agent_id)
        return solutions_success(NewAgentShape.of(record, api_key=key.secret))

    return api
