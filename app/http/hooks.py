"""Hooks that run for every request: id and log line, caller, CORS, rate limits, access, JSON body."""

from functools import partial

from flask import Flask, Request, Response, g
from flask.globals import request_ctx
from werkzeug.exceptions import RequestEntityTooLarge

from app.core.errors import InvalidInput
from app.http.access import check_access, find_caller, own_hosts, refuse_foreign_host
from app.http.cors import register_cors
from app.http.json_bodies import has_few_values, parsed
from app.http.rates import RateLimiter, register_rate_limits
from app.http.request_log import begin, end
from app.http.rules import Rules, rules_of
from app.http.sessions import DASHBOARD
from app.usecases import quotas
from app.usecases.services import Services


def register_request_rules(app: Flask, services: Services, limiter: RateLimiter | None) -> None:
    """Hooks get the request object itself: each access through Flask's proxy costs more than the attribute read."""
    settings = services.settings
    own = own_hosts(settings)

    def first() -> None:
        begin(request_ctx.request)
        if settings.auth_token is None:
            refuse_foreign_host(request_ctx.request, own)
        find_caller(services, request_ctx.request)

    def then() -> None:
        asked, rules = request_ctx.request, rules_of(request_ctx.request.endpoint)
        check_access(settings, asked)
        if rules.spends:
            quotas.refuse_if_spent(services, g.caller)
        if rules.has_document:
            # JSON may encode one byte of text in six.
            asked.max_content_length = app.config["MAX_CONTENT_LENGTH"] + 6 * settings.max_document_length
        _check_body(services, asked, rules)

    app.before_request(first)
    app.after_request(end)
    register_cors(app, settings.allowed_origins)
    if limiter is not None:
        register_rate_limits(app, limiter)
    app.before_request(then)
    app.after_request(partial(_give_back, services))


def _check_body(services: Services, asked: Request, rules: Rules) -> None:
    """Parses the body, with a clear message for one that is not a JSON object."""
    if asked.method not in ("POST", "PUT", "PATCH") or asked.blueprint == DASHBOARD:
        return
    if rules.max_bytes is not None:
        asked.max_content_length = rules.max_bytes
    body = _body_as_sent(asked)
    if rules.stores:
        _count(services, len(body))
    if not body or rules.is_lines:
        return
    if not asked.is_json:
        raise InvalidInput("body", "must be JSON, sent with Content-Type: application/json")
    value = parsed(body) if has_few_values(body) else services.run_aside(lambda: parsed(body))
    if not isinstance(value, dict):
        raise InvalidInput("body", "must be a JSON object")
    g.body = value


def _count(services: Services, count: int) -> None:
    """Counts what may be stored towards the caller's quota."""
    if quotas.count_bytes(services, g.caller, count):
        g.counted_bytes = count


def _give_back(services: Services, answer: Response) -> Response:
    counted = g.pop("counted_bytes", 0)
    if counted and answer.status_code >= 400:
        quotas.give_back_bytes(services, g.caller, counted)
    return answer


def _body_as_sent(asked: Request) -> bytes:
    if asked.content_encoding not in (None, "", "identity"):
        raise InvalidInput("Content-Encoding", "compressed bodies are not supported")
    body = asked.get_data()
    # A chunked body has no Content-Length and is cut at the limit.
    if asked.max_content_length is not None and len(body) >= asked.max_content_length:
        raise RequestEntityTooLarge
    return body
