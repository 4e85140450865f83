"""The methods of the protocol, for one caller."""

import json
from functools import partial
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from app import __version__
from app.core.access import Action, Guest, require, require_debate
from app.core.errors import DebateError, Forbidden
from app.http import requests
from app.http.errors import first_problem
from app.http.mcp import inputs
from app.http.mcp.prompts import get_prompt, list_prompts
from app.http.mcp.protocol import INVALID_PARAMS, TODAY, WITH_HANDSHAKE, Methods, RpcError, negotiated
from app.http.mcp.tools import TOOLS, Context, Tool, allowed
from app.usecases import read
from app.wire.export import as_markdown
from app.wire.guide import GUIDE

Json = dict[str, Any]
SERVER: Json = {"name": "debate-runner", "version": __version__}
CAPABILITIES: Json = {"tools": {}, "prompts": {}, "resources": {}}
SCHEME = "debate://"
LISTED_RESOURCES = 50
TEMPLATE: Json = {
    "uriTemplate": SCHEME + "{id}",
    "name": "debate",
    "description": "A debate with its verdicts, as Markdown",
    "mimeType": "text/markdown",
}


def methods_of(context: Context) -> Methods:
    return {
        "initialize": _initialize,
        "server/discover": _discover,
        "ping": lambda _: {},
        "tools/list": partial(_list_tools, context),
        "tools/call": partial(_call_tool, context),
        "prompts/list": list_prompts,
        "prompts/get": get_prompt,
        "resources/list": partial(_list_resources, context),
        "resources/templates/list": lambda _: {"resourceTemplates": [TEMPLATE]},
        "resources/read": partial(_read_resource, context),
    }


def _initialize(params: Json) -> Json:
    return {
        "protocolVersion": negotiated(params),
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": GUIDE,
    }


def _discover(_: Json) -> Json:
    return {
        "supportedVersions": [TODAY, *reversed(WITH_HANDSHAKE)],
        "capabilities": CAPABILITIES,
        "instructions": GUIDE,
    }


def _list_tools(context: Context, _: Json) -> Json:
    return {"tools": [_described(tool) for tool in TOOLS if _may_use(context, tool)]}


def _may_use(context: Context, tool: Tool) -> bool:
    try:
        allowed(context.caller, tool)
    except Forbidden:
        return False
    return True


def _described(tool: Tool) -> Json:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.takes.model_json_schema(),
        "outputSchema": tool.answers,
        "annotations": {
            "readOnlyHint": tool.action is Action.READ,
            "destructiveHint": tool.name == "stop",
            "openWorldHint": False,
        },
    }


def _call_tool(context: Context, params: Json) -> Json:
    tool = next((each for each in TOOLS if each.name == params.get("name")), None)
    if tool is None:
        names = ", ".join(each.name for each in TOOLS if _may_use(context, each))
        raise RpcError(INVALID_PARAMS, f"There is no tool {params.get('name')!r}. There are: {names}")
    try:
        allowed(context.caller, tool)
        given = tool.takes.model_validate(params.get("arguments") or {})
        if isinstance(given, inputs.OfDebate):
            require_debate(context.caller, given.debate_id)
        result = tool.run(context, given)
    except ValidationError as problem:
        return _refused(first_problem(problem, "arguments"))
    except DebateError as refusal:
        return _refused(refusal)
    text = json.dumps(result, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": result, "isError": False}


def _refused(refusal: DebateError) -> Json:
    """The refusal as text for an agent: what is wrong, and what to do."""
    words = f"{refusal.code}: {refusal.message}."
    if refusal.suggestion:
        words += f" {refusal.suggestion}."
    if refusal.code == "ACTION_NOT_ALLOWED":
        words += " Call wait_for_turn to see whose turn it is."
    return {"content": [{"type": "text", "text": words}], "isError": True}


def _list_resources(context: Context, _: Json) -> Json:
    require_reader(context)
    if isinstance(context.caller, Guest):
        return {"resources": []}
    query = requests.ListQuery.model_validate({"limit": LISTED_RESOURCES})
    page = read.list_debates(context.services, context.caller, query.filters(), query.limit, 0, None)
    return {
        "resources": [
            {"uri": f"{SCHEME}{debate.id}", "name": debate.title, "mimeType": TEMPLATE["mimeType"]}
            for debate in page.debates
        ]
    }


def _read_resource(context: Context, params: Json) -> Json:
    require_reader(context)
    uri = str(params.get("uri", ""))
    try:
        debate_id = UUID(uri.removeprefix(SCHEME).rstrip("/"))
        require_debate(context.caller, debate_id)
        debate, turns = read.stream_transcript(context.services, debate_id)
    except (ValueError, DebateError):
        raise RpcError(INVALID_PARAMS, f"There is no debate at {uri!r}", {"uri": uri}) from None
    text = "".join(as_markdown(debate, turns))
    return {"contents": [{"uri": uri, "mimeType": TEMPLATE["mimeType"], "text": text}]}


def require_reader(context: Context) -> None:
    try:
        require(context.caller, Action.READ)
    except Forbidden as refusal:
        raise RpcError(INVALID_PARAMS, f"{refusal.message}. {refusal.suggestion}") from refusal
