"""CORS: pages of the origins in DEBATE_ALLOWED_ORIGINS may use the REST API from a browser.

They authenticate with `Authorization: Bearer`, never with a cookie: Access-Control-Allow-Credentials is not sent, and a
cookie that arrives anyway is ignored. Does not apply to the dashboard's pages.
"""

from collections.abc import Sequence

from flask import Flask, Request, Response
from flask.globals import request_ctx

from app.http.sessions import DASHBOARD, is_own_origin

METHODS = "GET, HEAD, POST, PUT, DELETE"
REQUEST_HEADERS = "Authorization, Content-Type, Last-Event-ID, X-Request-ID, traceparent"
ANSWER_HEADERS = "Content-Disposition, Idempotent-Replayed, Retry-After, X-Request-ID"
"""Response headers that a page may read."""
PREFLIGHT_SECONDS = 600
"""How long a browser may cache the response to a preflight request."""


def is_of_allowed_origin(asked: Request, allowed: Sequence[str]) -> bool:
    """Whether a page of one of these origins sent the request. False for the server's own origin, by its name or by
    Sec-Fetch-Site: behind a proxy the name that browsers use may differ from ours, and may be in the list."""
    origin = asked.headers.get("Origin")
    if origin is None or origin not in allowed:
        return False
    return not is_own_origin(origin, asked) and asked.headers.get("Sec-Fetch-Site") != "same-origin"


def register_cors(app: Flask, allowed: Sequence[str]) -> None:
    if not allowed:
        return

    def answer_preflight() -> Response | None:
        """Runs before the access check: browsers send no token with a preflight request."""
        asked = request_ctx.request
        is_preflight = asked.method == "OPTIONS" and "Access-Control-Request-Method" in asked.headers
        if not is_preflight or asked.blueprint == DASHBOARD or asked.headers.get("Origin") not in allowed:
            return None
        response = Response(status=204)
        response.headers["Access-Control-Allow-Methods"] = METHODS
        response.headers["Access-Control-Allow-Headers"] = REQUEST_HEADERS
        response.headers["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
        return response

    def let_the_page_read(response: Response) -> Response:
        """Applies to errors too, so that the page can show them."""
        asked = request_ctx.request
        if asked.blueprint == DASHBOARD:
            return response
        # On every response: otherwise a cache would serve one origin's response to another.
        response.vary.add("Origin")
        origin = asked.headers.get("Origin")
        if origin in allowed:
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = ANSWER_HEADERS
        return response

    app.before_request(answer_preflight)
    app.after_request(let_the_page_read)
