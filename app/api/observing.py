"""What is written down of every request: an id, a line in the log, a count, and how long it took."""

import re
import secrets
import time
from uuid import UUID

import structlog
from flask import Flask, Response, g, request

from app import metrics, tracing
from app.api.access import METRICS_PATH, OPEN_PATHS, WEBSOCKET_PATH

log = structlog.get_logger(__name__)
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_HELD = frozenset({WEBSOCKET_PATH, "/debates/<debate_id>/wait", "/debates/<debate_id>/stream"})
"""They take as long as the client wants, which says nothing about the server."""
_SILENT = OPEN_PATHS | {METRICS_PATH}
"""Asked again and again by machines; counted, but without a line."""


def register_observing(app: Flask) -> None:
    """First of all rules, so that a refused request has its id and its line too."""

    def begin() -> None:
        given = request.headers.get("X-Request-ID", "")
        g.request_id = given if _SANE_ID.fullmatch(given) else f"req_{secrets.token_hex(8)}"
        g.began_at, g.began_ns = time.monotonic(), time.time_ns()
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=g.request_id, **_debate_in_path())

    def end(response: Response) -> Response:
        response.headers["X-Request-ID"] = g.request_id
        _observe(response, time.monotonic() - g.began_at)
        return response

    app.before_request(begin)
    app.after_request(end)


def _debate_in_path() -> dict[str, str]:
    try:
        return {"debate_id": str(UUID((request.view_args or {})["debate_id"]))}
    except (KeyError, ValueError):
        return {}


def _trace(response: Response, route: str) -> None:
    """A write to a debate is part of its trace; the one that created it is its beginning."""
    is_first = route == "/debates" and response.status_code == 201
    debate_id = response.get_json()["data"]["debate"]["id"] if is_first else _debate_in_path().get("debate_id")
    if debate_id is None:
        return
    tracing.request(
        f"{request.method} {route}",
        UUID(debate_id),
        g.began_ns,
        is_first=is_first,
        caller=request.headers.get("traceparent"),
        attributes={
            "debate.id": debate_id,
            "request.id": g.request_id,
            "http.response.status_code": response.status_code,
        },
    )


def _observe(response: Response, seconds: float) -> None:
    # Only what the server itself knows by name: a client may send any address and any method.
    route = request.url_rule.rule if request.url_rule else "none"
    method = request.method if request.method in _METHODS else "other"
    status = response.status_code
    if route == WEBSOCKET_PATH and status == 200:
        # flask-sock's answer once the connection is over, which nobody gets.
        status = 101
    metrics.http_requests.labels(method, route, str(status)).inc()
    if route not in _HELD:
        metrics.http_request_seconds.labels(method, route).observe(seconds)
    if tracing.is_on() and request.method not in _READS:
        _trace(response, route)
    if request.path not in _SILENT:
        log.info("request.done", method=method, route=route, status=status, duration_ms=round(seconds * 1000))
