"""What happens to every request before its view: an id, access, and a body that is JSON."""

import json

from flask import Flask, Request, g
from flask.globals import request_ctx
from werkzeug.exceptions import RequestEntityTooLarge

from app.api.access import check_access, find_caller
from app.api.observing import begin, end
from app.api.rates import register_rate_limits
from app.core.errors import InvalidInput
from app.usecases.services import Services
from app.web.blueprint import NAME as DASHBOARD


def register_request_rules(app: Flask, services: Services) -> None:
    """The request itself is handed on: each look at Flask's stand-in for it costs more than what is looked at."""
    settings = services.settings

    def first() -> None:
        begin(request_ctx.request)
        find_caller(services, request_ctx.request)

    def then() -> None:
        check_access(settings, request_ctx.request)
        _check_body(request_ctx.request)

    app.before_request(first)
    app.after_request(end)
    register_rate_limits(app, settings)
    app.before_request(then)


def _check_body(asked: Request) -> None:
    """So that the client hears what is wrong with a body that is none."""
    if asked.method not in ("POST", "PUT", "PATCH") or asked.blueprint == DASHBOARD:
        return
    body = _body_as_sent(asked)
    if not body:
        return
    if not asked.is_json:
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
    g.body = parsed


def _body_as_sent(asked: Request) -> bytes:
    if asked.content_encoding not in (None, "", "identity"):
        raise InvalidInput("Content-Encoding", "a body is taken as it is, never compressed")
    body = asked.get_data()
    # A body sent in chunks does not say how long it is, and is cut at the limit.
    if asked.max_content_length is not None and len(body) >= asked.max_content_length:
        raise RequestEntityTooLarge
    return body
