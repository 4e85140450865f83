"""Request id, log line, metrics and trace of every request."""

import re
import secrets
import time
from functools import cache
from uuid import UUID

import structlog
from flask import Request, Response, g
from flask.globals import app_ctx, request_ctx

from app.http.access import METRICS_PATH, OPEN_PATHS, WEBSOCKET_PATH
from app.http.sessions import READ_METHODS
from app.observe import metrics, tracing

log = structlog.get_logger(__name__)
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_METHODS = READ_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
_HELD = frozenset({WEBSOCKET_PATH, "/debates/<debate_id>/wait", "/debates/<debate_id>/stream"})
"""Held open as long as the client wants, so their duration is not measured."""
_SILENT = OPEN_PATHS | {METRICS_PATH}
"""Polled by machines: counted, but not logged."""


def new_request_id() -> str:
    return f"req_{secrets.token_hex(8)}"


def begin(asked: Request) -> None:
    """Runs before every other hook, so that refused requests have an id and a log line too."""
    about = app_ctx.g
    given = asked.headers.get("X-Request-ID", "")
    about.request_id = given if _SANE_ID.fullmatch(given) else new_request_id()
    about.began_at, about.began_ns = time.monotonic(), time.time_ns()
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=about.request_id, **_debate_in_path(asked))


def end(response: Response) -> Response:
    about = app_ctx.g
    response.headers["X-Request-ID"] = about.request_id
    _observe(request_ctx.request, response, time.monotonic() - about.began_at)
    return response


def _debate_in_path(asked: Request) -> dict[str, str]:
    try:
        return {"debate_id": str(UUID((asked.view_args or {})["debate_id"]))}
    except (KeyError, ValueError):
        return {}


def _trace(asked: Request, response: Response, route: str) -> None:
    """A write to a debate belongs to the debate's trace; the request that created it is the trace's first span."""
    is_first = route == "/debates" and response.status_code == 201
    debate_id = response.get_json()["data"]["debate"]["id"] if is_first else _debate_in_path(asked).get("debate_id")
    if debate_id is None:
        return
    tracing.request(
        f"{asked.method} {route}",
        UUID(debate_id),
        g.began_ns,
        is_first=is_first,
        caller=asked.headers.get("traceparent"),
        attributes={
            "debate.id": debate_id,
            "request.id": g.request_id,
            "http.response.status_code": response.status_code,
        },
    )


# Cached: prometheus-client's lookup by labels takes as long as the counting.
_requests = cache(metrics.http_requests.labels)
_request_seconds = cache(metrics.http_request_seconds.labels)


def _observe(asked: Request, response: Response, seconds: float) -> None:
    # Bounded labels: a client may send any path and any method.
    route = asked.url_rule.rule if asked.url_rule else "none"
    method = asked.method if asked.method in _METHODS else "other"
    status = response.status_code
    if route == WEBSOCKET_PATH and status == 200:
        # What flask-sock returns after the connection has ended; it is never sent.
        status = 101
    _requests(method, route, status).inc()
    if route not in _HELD:
        _request_seconds(method, route).observe(seconds)
    if tracing.is_on() and asked.method not in READ_METHODS:
        _trace(asked, response, route)
    if asked.path not in _SILENT:
        log.info("request.done", method=method, route=route, status=status, duration_ms=round(seconds * 1000))
