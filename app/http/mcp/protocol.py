"""JSON-RPC and the revisions of the Model Context Protocol, without Flask.

Today's revision (2026-07-28) is stateless: each request carries its version in `_meta`, and headers repeat it. The
revisions of 2024 and 2025 begin with `initialize`; nothing is remembered between requests for them either.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
TODAY = "2026-07-28"
WITH_HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose header Mcp-Name repeats this parameter."""
CACHEABLE = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    }
)
"""Methods whose results say, since today's revision, how long they may be kept."""

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
_HTTP_STATUS = {METHOD_NOT_FOUND: 404}


class RpcError(Exception):
    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class RpcReply:
    status: int
    body: Json | None
    """None for a notification, which has no response."""


Methods = Mapping[str, Callable[[Json], Json]]
"""method → a function of its params"""


def answer(body: Json, headers: Mapping[str, str], methods: Methods, server: Json) -> RpcReply:
    """Answers one message. `headers` have lower-case names. `methods` give results without what a revision adds."""
    if "id" not in body:
        return RpcReply(202, None)
    is_today = _is_today(body, headers)
    try:
        params = body.get("params") or {}
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params must be an object")
        if is_today:
            _check_today(body["method"], params, headers)
        else:
            _check_handshake_version(headers)
        method = methods.get(body["method"])
        if method is None:
            raise RpcError(METHOD_NOT_FOUND, f"There is no method {body['method']!r}")
        result = method(params)
    except RpcError as problem:
        return _failed(body["id"], problem, is_today)
    if is_today:
        result = _of_today(body["method"], result, server)
    return RpcReply(200, {"jsonrpc": "2.0", "id": body["id"], "result": result})


def negotiated(params: Json) -> str:
    """The version of an `initialize`: the client's, if it is one with a handshake."""
    asked = params.get("protocolVersion")
    return asked if asked in WITH_HANDSHAKE else WITH_HANDSHAKE[-1]


def _is_today(body: Json, headers: Mapping[str, str]) -> bool:
    if body["method"] == "initialize" or headers.get(VERSION_HEADER) in WITH_HANDSHAKE:
        return False
    meta = (body.get("params") or {}).get("_meta") if isinstance(body.get("params"), dict) else None
    return VERSION_HEADER in headers or (isinstance(meta, dict) and VERSION_KEY in meta)


def _check_today(method: str, params: Json, headers: Mapping[str, str]) -> None:
    meta = params.get("_meta")
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if not isinstance(meta, dict) or key not in meta]
    if not isinstance(meta, dict) or missing:
        raise RpcError(INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}")
    version = meta[VERSION_KEY]
    if headers.get(VERSION_HEADER) != version:
        raise RpcError(HEADER_MISMATCH, f"The header {VERSION_HEADER} differs from the version in params._meta")
    if headers.get(METHOD_HEADER) != method:
        raise RpcError(HEADER_MISMATCH, f"The header {METHOD_HEADER} differs from the method")
    named = params.get(NAMED[method]) if method in NAMED else None
    if named is not None and _decoded(headers.get(NAME_HEADER)) != named:
        raise RpcError(HEADER_MISMATCH, f"The header {NAME_HEADER} differs from params.{NAMED[method]}")
    if version != TODAY:
        raise _unsupported(str(version))


def _decoded(value: str | None) -> str | None:
    """A header's value; text that no header can hold is sent as =?base64?…?=."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[len("=?base64?") : -len("?=")], validate=True).decode()
    except ValueError:
        return None


def _check_handshake_version(headers: Mapping[str, str]) -> None:
    sent = headers.get(VERSION_HEADER)
    if sent is not None and sent not in (*WITH_HANDSHAKE, TODAY):
        raise _unsupported(sent)


def _unsupported(requested: str) -> RpcError:
    supported = [TODAY, *reversed(WITH_HANDSHAKE)]
    return RpcError(
        UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": supported, "requested": requested}
    )


def _of_today(method: str, result: Json, server: Json) -> Json:
    cache: Json = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {}
    return {"resultType": "complete", **cache, **result, "_meta": {SERVER_KEY: server}}


def _failed(request_id: Any, problem: RpcError, is_today: bool) -> RpcReply:
    error: Json = {"code": problem.code, "message": problem.message}
    if problem.data is not None:
        error["data"] = problem.data
    # Before today's revision an error is a successful HTTP response.
    refused = is_today or problem.code == UNSUPPORTED_VERSION
    status = _HTTP_STATUS.get(problem.code, 400) if refused else 200
    return RpcReply(status, {"jsonrpc": "2.0", "id": request_id, "error": error})
