"""What happens to every request before its view: an id, access, and a body that is JSON."""

import json

from flask import Flask, g, request
from werkzeug.exceptions import RequestEntityTooLarge

from app.api.access import check_access, find_caller
from app.api.observing import register_observing
from app.api.rates import register_rate_limits
from app.core.errors import InvalidInput
from app.usecases.services import Services
from app.web.blueprint import NAME as DASHBOARD


def register_request_rules(app: Flask, services: Services) -> None:
    register_observing(app)
    app.before_request(lambda: find_caller(services))
    register_rate_limits(app, services.settings)
    app.before_request(lambda: check_access(services.settings))
    app.before_request(_check_body)


def _check_body() -> None:
    """flask-openapi3 would take a broken body for an absent one; the client should hear what is wrong with it."""
    if request.method not in ("POST", "PUT", "PATCH") or request.blueprint == DASHBOARD:
        return
    body = _body_as_sent()
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
    g.body = parsed


def _body_as_sent() -> bytes:
    if request.content_encoding not in (None, "", "identity"):
        raise InvalidInput("Content-Encoding", "a body is taken as it is, never compressed")
    body = request.get_data()
    # A body sent in chunks does not say how long it is, and is cut at the limit.
    if request.max_content_length is not None and len(body) >= request.max_content_length:
        raise RequestEntityTooLarge
    return body
