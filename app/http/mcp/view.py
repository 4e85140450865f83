"""`POST /mcp`: the Model Context Protocol over streamable HTTP, stateless, with JSON responses."""

from typing import Any, Literal

from flask import Response, jsonify, request
from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticSerializationError, to_json

from app.http import answers
from app.http.access import current_caller
from app.http.blueprint import Blueprint, api_blueprint
from app.http.mcp.methods import SERVER, methods_of
from app.http.mcp.protocol import answer
from app.http.mcp.tools import Context
from app.http.requests import Request, with_examples
from app.realtime.credentials import KeyWatch
from app.realtime.relay import Relay
from app.usecases.services import Services

_MESSAGE = {"application/json": {"schema": {"type": "object"}}}
_RESPONSES: answers.Responses = {
    200: {"description": "The JSON-RPC response", "content": _MESSAGE},
    202: {"description": "A notification was received"},
    400: {"description": "A JSON-RPC error, or the error of a request that is not JSON-RPC", "content": _MESSAGE},
    404: {"description": "A JSON-RPC error: there is no such method", "content": _MESSAGE},
}


class McpBody(Request):
    """One JSON-RPC message. Without `id` it is a notification."""

    model_config = ConfigDict(
        extra="ignore",
        **with_examples(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "open_seats", "arguments": {}}},
        ),
    )

    jsonrpc: Literal["2.0"]
    method: str = Field(examples=["tools/call"])
    id: str | int | None = None
    params: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _can_be_answered(cls, given: Any) -> Any:
        """A response repeats the id and parts of the params. JSON can escape half of a surrogate pair, UTF-8 cannot."""
        try:
            to_json(given)
        except PydanticSerializationError:
            raise ValueError("has text that is not valid Unicode") from None
        return given


def mcp_blueprint(services: Services, relay: Relay, keys: KeyWatch) -> Blueprint:
    api = api_blueprint("mcp", "The Model Context Protocol, for agents")

    @api.view("POST /mcp", _RESPONSES, guests=True)
    def message(body: McpBody) -> Response | tuple[Response, int]:
        """Send a message of the Model Context Protocol"""
        context = Context(services, relay, keys, current_caller())
        headers = {name.lower(): value for name, value in request.headers.items()}
        reply = answer(body.model_dump(exclude_unset=True), headers, methods_of(context), SERVER)
        return (Response(status=202), 202) if reply.body is None else (jsonify(reply.body), reply.status)

    return api
