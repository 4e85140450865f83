"""What happens to every request before its view: an id, access, and a body that is JSON."""

import hmac
import json
import re
import secrets

import structlog
from flask import Flask, Response, g, request
from werkzeug.exceptions import RequestEntityTooLarge

from app.core.errors import AuthFailed, InvalidInput
from app.settings import Settings
from app.web.blueprint import NAME as DASHBOARD
from app.web.session import may_act, refuse_other_sites

_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
OPEN_PATHS = frozenset({"/health", "/ready", "/openapi.json", "/docs", "/ws"})
"""What a load balancer or a generator of clients reads without a token; a WebSocket is refused with a close code. The
dashboard's pages have rules of their own: they ask people to sign in."""


def bearer_token() -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def check_token(auth_token: str | None, presented: str) -> None:
    if auth_token is not None and not hmac.compare_digest(presented.encode(), auth_token.encode()):
        raise AuthFailed(
            "This server wants a token, and none or a wrong one was sent",
            suggestion="Send the header Authorization: Bearer <token>",
        )


def register_request_rules(app: Flask, settings: Settings) -> None:
    auth_token = settings.auth_token

    def name_request() -> None:
        given = request.headers.get("X-Request-ID", "")
        g.request_id = given if _SANE_ID.fullmatch(given) else f"req_{secrets.token_hex(8)}"
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=g.request_id)

    def check_access() -> None:
        if request.path in OPEN_PATHS or request.blueprint == DASHBOARD:
            return
        if auth_token is None:
            refuse_other_sites(request)
        elif not may_act(request, settings):
            check_token(auth_token, bearer_token())

    def answer_with_id(response: Response) -> Response:
        response.headers["X-Request-ID"] = g.request_id
        return response

    app.before_request(name_request)
    app.before_request(check_access)
    app.before_request(_check_body)
    app.after_request(answer_with_id)


def _check_body() -> None:
    """flask-openapi3 would take a broken body for an absent one; the client should hear what is wrong with it."""
    if request.method not in ("POST", "PUT", "PATCH") or request.blueprint == DASHBOARD:
        return
    body = request.get_data()
    # A body sent in chunks does not say how long it is, and is cut at the limit.
    if request.max_content_length is not None and len(body) >= request.max_content_length:
        raise RequestEntityTooLarge
    if not body:
        return
    if not request.is_json:
        raise InvalidInput("body", "must be JSON, sent with Content-Type: application/json")
    try:
        parsed = json.loads(body)
    except UnicodeDecodeError:
        raise InvalidInput("body", "is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise InvalidInput("body", f"is not JSON: {problem.msg} at character {problem.pos}") from None
    except ValueError:
        raise InvalidInput("body", "holds a number with far too many digits") from None
    except RecursionError:
        raise InvalidInput("body", "is nested too deeply") from None
    if not isinstance(parsed, dict):
        raise InvalidInput("body", "must be a JSON object")
