"""The requests of the API, each described once. `Client` and `AsyncClient` send the same descriptions."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from uuid import uuid4

from debate_client.answers import AgentKey, Debate, DebatePage, Invitation, Issued, News, Stored, Transcript
from debate_client.errors import Json

T = TypeVar("T")
HOLD_SPARE_SECONDS = 10.0
"""Added to the server's limit for a long poll."""


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    method: str
    path: str
    read: Callable[[Any], T]
    """Turns the response's `data` into a value."""
    query: Json = field(default_factory=dict)
    body: Json | None = None
    content: bytes | None = None
    """A body that is no JSON document; its type is in the headers."""
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = False
    """Idempotent: it may be sent again if the server may have received it."""
    timeout_seconds: float | None = None
    """None: the client's."""
    also_answers: frozenset[int] = frozenset()
    """Error statuses whose body is read like a success."""
    is_document: bool = False
    """`read` gets the body's bytes, not the `data` of an envelope."""
    is_envelope: bool = False
    """`read` gets the whole envelope, for the `meta` of a page."""

    def within(self, seconds: float | None) -> "Request[T]":
        return replace(self, timeout_seconds=seconds)


def as_is(data: Any) -> Any:
    return data


def given(values: Mapping[str, Any]) -> Json:
    """Only values that are not None; the server has defaults for the others."""
    return {name: value for name, value in values.items() if value is not None}


def call(
    method: str,
    path: str,
    query: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
    repeatable: bool | None = None,
) -> Request[Any]:
    """Any request. Returns the plain `data`. For endpoints without a method in this package."""
    return Request(
        method,
        path,
        as_is,
        given(query or {}),
        dict(body) if body is not None else None,
        is_repeatable=method == "GET" if repeatable is None else repeatable,
    )


def upload(
    path: str, content: bytes, content_type: str, query: Mapping[str, Any] | None = None, repeatable: bool = False
) -> Request[Any]:
    """A POST with a file as its body (CSV, JSON lines, …), returns the plain `data`."""
    headers = {"Content-Type": content_type}
    return Request("POST", path, as_is, given(query or {}), content=content, headers=headers, is_repeatable=repeatable)


def document(path: str, query: Mapping[str, Any] | None = None) -> Request[bytes]:
    return Request("GET", path, bytes, given(query or {}), is_repeatable=True, is_document=True)


def health() -> Request[bool]:
    return Request("GET", "/health", lambda data: bool(data["status"] == "ok"), is_repeatable=True)


def ready() -> Request[Json]:
    """The state of database, queue and workers, also of a server that is not ready."""
    return Request("GET", "/ready", _data, also_answers=frozenset({503}), is_document=True, is_repeatable=True)


def _data(body: bytes) -> Json:
    found: Json = json.loads(body)["data"]
    return found


def create(
    motion: str,
    *,
    title: str | None = None,
    debate_type: str = "general_debate",
    format: str | None = None,  # noqa: A002 (the API's name)
    seats: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    debate_id: str | None = None,
    client_request_id: str | None = None,
    **more: Any,
) -> Request[Stored]:
    """A new debate. `seats` maps a role to a player's name or to its whole description."""
    described = {role: {"player": seat} if isinstance(seat, str) else seat for role, seat in (seats or {}).items()}
    body = {
        "title": title or title_of(motion),
        "debate_type": debate_type,
        "motion_content": motion,
        "format": format,
        "seats": described or None,
        "limits": limits,
        "debate_id": debate_id,
        "client_request_id": client_request_id or str(uuid4()),
        **more,
    }
    return Request("POST", "/debates", Stored.of, body=given(body), is_repeatable=True)


LONGEST_TITLE = 200


def title_of(motion: str) -> str:
    title = " ".join(motion.split())
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"


def page(limit: int | None = None, cursor: str | None = None, **filters: Any) -> Request[DebatePage]:
    """One page of debates. `filters` are the query parameters of `GET /debates`."""
    query = {name: "true" if value is True else value for name, value in filters.items() if value is not False}
    return Request(
        "GET", "/debates", DebatePage.of, given({**query, "limit": limit, "cursor": cursor}), is_repeatable=True
    )


def transcript(debate_id: str, limit: int | None = None) -> Request[Transcript]:
    """A debate with its last `limit` arguments; with all of them without a limit."""
    return Request("GET", f"/debates/{debate_id}", Transcript.of, given({"limit": limit}), is_repeatable=True)


def debate(debate_id: str) -> Request[Debate]:
    return Request(
        "GET", f"/debates/{debate_id}", lambda data: Debate.of(data["debate"]), {"limit": 0}, is_repeatable=True
    )


def export(debate_id: str, format: str = "markdown") -> Request[bytes]:  # noqa: A002 (the API's name)
    return document(f"/debates/{debate_id}/export", {"format": format})


def deleted(data: Any) -> bool:
    return bool(data["deleted"])


def delete(debate_id: str) -> Request[bool]:
    return Request("DELETE", f"/debates/{debate_id}", deleted)


def _changed(debate_id: str, path: str, body: Json | None = None) -> Request[Debate]:
    """An idempotent change."""
    return Request(
        "POST",
        f"/debates/{debate_id}/{path}",
        lambda data: Debate.of(data["debate"]),
        body=body or {},
        is_repeatable=True,
    )


def start(debate_id: str) -> Request[Debate]:
    return _changed(debate_id, "start")


def stop(debate_id: str, reason: str | None = None) -> Request[Debate]:
    return _changed(debate_id, "stop", given({"reason": reason}))


def pause(debate_id: str, now: bool = False) -> Request[Debate]:
    return _changed(debate_id, "pause", {"now": now})


def resume(debate_id: str) -> Request[Debate]:
    return _changed(debate_id, "resume")


def take_seat(debate_id: str, role: str) -> Request[Debate]:
    """Takes an open external seat."""
    return _changed(debate_id, f"seats/{role}/take")


def release_seat(debate_id: str, role: str) -> Request[Debate]:
    return _changed(debate_id, f"seats/{role}/release")


def invite(debate_id: str, role: str, expires_in_seconds: int | None = None) -> Request[Invitation]:
    """A link for a person and a key for a program: both open this seat of this debate and nothing else. `role` is a
    seat, or `watcher`. Not repeatable: both are shown once."""
    body = given({"role": role, "expires_in_seconds": expires_in_seconds})
    return Request("POST", f"/debates/{debate_id}/invitations", Invitation.of, body=body)


def invitations(debate_id: str) -> Request[tuple[Issued, ...]]:
    """The valid invitations: all for the operator, an agent's own for the agent."""

    def read(data: Any) -> tuple[Issued, ...]:
        return tuple(map(Issued.of, data["invitations"]))

    return Request("GET", f"/debates/{debate_id}/invitations", read, is_repeatable=True)


def revoke_invitation(debate_id: str, invitation_id: str) -> Request[bool]:
    return Request("DELETE", f"/debates/{debate_id}/invitations/{invitation_id}", deleted, is_repeatable=True)


def _move(debate_id: str, path: str, client_request_id: str | None, body: Mapping[str, Any]) -> Request[Stored]:
    return Request(
        "POST",
        f"/debates/{debate_id}/{path}",
        Stored.of,
        # A new id when none was given: it makes the repeats of this one call safe.
        body=given({**body, "client_request_id": client_request_id or str(uuid4())}),
        is_repeatable=True,
    )


def argue(
    debate_id: str, role: str, content: str, target_id: str, client_request_id: str | None = None
) -> Request[Stored]:
    """An argument of the proposer or opponent, in answer to the argument `target_id`."""
    body = {"role": role, "content": content, "target_id": target_id}
    return _move(debate_id, "arguments", client_request_id, body)


def appeal(debate_id: str, content: str, target_id: str, client_request_id: str | None = None) -> Request[Stored]:
    """Asks the judge for a ruling, as proposer."""
    return _move(debate_id, "appeal", client_request_id, {"content": content, "target_id": target_id})


def resolve(debate_id: str, content: str, target_id: str, client_request_id: str | None = None) -> Request[Stored]:
    """Closes the debate with this result, as proposer."""
    return _move(debate_id, "resolution", client_request_id, {"content": content, "target_id": target_id})


def rule(
    debate_id: str,
    content: str,
    close: bool = False,
    verdict: Mapping[str, Any] | None = None,
    client_request_id: str | None = None,
) -> Request[Stored]:
    body = {"content": content, "close": close, "verdict": verdict}
    return _move(debate_id, "ruling", client_request_id, body)


def ask(debate_id: str, content: str, client_request_id: str | None = None, role: str | None = None) -> Request[Stored]:
    """A question, where the seat's step in the format is one. `role`: the judge if absent."""
    return _move(debate_id, "question", client_request_id, {"content": content, **given({"role": role})})


def intervene(debate_id: str, content: str | None = None, client_request_id: str | None = None) -> Request[Stored]:
    return _move(debate_id, "intervention", client_request_id, {"content": content})


def poll(debate_id: str, role: str, argument_id: str | None = None) -> Request[News]:
    query = given({"role": role, "argument_id": argument_id})
    return Request("GET", f"/debates/{debate_id}/poll", News.of, query, is_repeatable=True)


def wait(
    debate_id: str, role: str, argument_id: str | None = None, timeout_seconds: float | None = None
) -> Request[News]:
    """Waits until there is an argument after `argument_id`, at most `timeout_seconds`."""
    held = 60.0 if timeout_seconds is None else timeout_seconds
    milliseconds = None if timeout_seconds is None else int(timeout_seconds * 1000)
    query = given({"role": role, "argument_id": argument_id, "timeout_ms": milliseconds})
    return Request(
        "GET",
        f"/debates/{debate_id}/wait",
        News.of,
        query,
        is_repeatable=True,
        timeout_seconds=held + HOLD_SPARE_SECONDS,
    )


def solutions_page(path: str, cursor: str | None = None, limit: int = 100) -> Request[tuple[list[Json], str | None]]:
    """One page of a list of the solutions API, and the cursor of the next."""
    return Request(
        "GET",
        path,
        lambda envelope: (envelope["data"], (envelope.get("meta") or {}).get("nextCursor")),
        given({"limit": limit, "cursor": cursor}),
        is_repeatable=True,
        is_envelope=True,
    )


def mcp(message: Json) -> Request[Any]:
    """One message of the Model Context Protocol, returns a JSON-RPC response; None for a notification."""
    method, params = message.get("method"), message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(MCP_VERSION_KEY) if isinstance(meta, dict) else None
    headers = {"Accept": "application/json, text/event-stream"}
    if isinstance(version, str):
        name = params.get("uri" if method == "resources/read" else "name") if isinstance(params, dict) else None
        headers |= {"MCP-Protocol-Version": version, "Mcp-Method": str(method)}
        headers |= {"Mcp-Name": _header(name)} if isinstance(name, str) else {}
    return Request(
        "POST",
        "/mcp",
        lambda body: json.loads(body) if body else None,
        body=message,
        headers=headers,
        # A tool may store something; everything else only reads.
        is_repeatable=method != "tools/call",
        timeout_seconds=MCP_SECONDS,
        also_answers=frozenset({400, 404}),
        is_document=True,
    )


MCP_SECONDS = 49.0
"""The server waits for 45 at most, and clients give up at 60."""
MCP_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


def _header(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def create_agent(
    username: str, display_name: str | None = None, scopes: tuple[str, ...] | None = None
) -> Request[AgentKey]:
    """Needs the operator's token. Not repeatable: the key is shown once."""
    body = given({"username": username, "displayName": display_name, "scopes": list(scopes) if scopes else None})
    return Request("POST", "/api/v1/agents", AgentKey.of, body=body)
