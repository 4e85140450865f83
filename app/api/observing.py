"""What is written down of every request: an id, a line in the log, a count, and how long it took."""

import re
import secrets
import time
from uuid import UUID

import structlog
from flask import Flask, Response, g, request

from app import metrics
from app.api.access import METRICS_PATH, OPEN_PATHS, WEBSOCKET_PATH

log = structlog.get_logger(__name__)
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_HELD = frozenset({WEBSOCKET_PATH, "/debates/<debate_id>/wait", "/debates/<debate_id>/stream"})
"""They take as long as the client wants, which says nothing about the server."""
_SILENT = OPEN_PATHS | {METRICS_PATH}
"""Asked again and again by machines; counted, but without a line."""


def register_observing(app: Flask) -> None:
    """First of all rules, so that a refused request has its id and its line too."""

    def begin() -> None:
        given = request.headers.get("X-Request-ID", "")
        g.request_id = given if _SANE_ID.fullmatch(given) else f"req_{secrets.token_hex(8)}"
        g.began_at = time.monotonic()
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
    if request.path not in _SILENT:
        log.info("request.done", method=method, route=route, status=status, duration_ms=round(seconds * 1000))
