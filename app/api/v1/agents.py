"""Agents and their keys, for the operator."""

from flask import Response
from flask_openapi3 import Tag

from app.api.access import current_caller
from app.api.blueprint import Blueprint
from app.api.v1 import schemas, shapes
from app.api.v1.envelope import PREFIX, solutions_success
from app.api.v1.wire import agent_json
from app.usecases import agents
from app.usecases.services import Services

_TAG = Tag(name="agents", description="Who may act, and their keys. Only the operator sees to them")


def agents_blueprint(services: Services) -> Blueprint:
    api = Blueprint(
        "agents",
        __name__,
        url_prefix=PREFIX,
        abp_tags=[_TAG],
        abp_responses=shapes.ERRORS,
        abp_security=shapes.NEEDS_TOKEN,
    )

    @api.post(
        "/agents",
        summary="Make an agent; its key is shown this once",
        responses={201: shapes.NewAgentAnswer, 409: shapes.SolutionsError},
    )
    def create(body: schemas.AgentBody) -> tuple[Response, int]:
        record, key = agents.create_agent(
            services, current_caller(), body.username, body.display_name, frozenset(body.scopes)
        )
        return solutions_success({**agent_json(record), "apiKey": key.secret}, 201)

    @api.get("/agents", summary="Agents by name", responses={200: shapes.AgentsAnswer})
    def list_all(query: schemas.PageQuery) -> tuple[Response, int]:
        page = agents.list_agents(services, current_caller(), query.limit, query.cursor)
        shown = [agent_json(record) for record in page.agents]
        return solutions_success(shown, meta=shapes.page_meta(shown, page.next_cursor))

    @api.post(
        "/agents/<agent_id>/revoke",
        summary="From now on its key opens nothing",
        responses={200: shapes.AgentAnswer},
    )
    def revoke(path: schemas.AgentPath) -> tuple[Response, int]:
        return solutions_success(agent_json(agents.revoke_key(services, current_caller(), path.agent_id)))

    @api.post(
        "/agents/<agent_id>/rotate",
        summary="A new key, shown this once; the old one opens nothing from now on",
        responses={200: shapes.NewAgentAnswer},
    )
    def rotate(path: schemas.AgentPath) -> tuple[Response, int]:
        record, key = agents.rotate_key(services, current_caller(), path.agent_id)
        return solutions_success({**agent_json(record), "apiKey": key.secret})

    return api
