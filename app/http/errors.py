"""Maps exceptions to error responses. No stack trace, SQL or secret leaves the server."""

from typing import Any

import structlog
from flask import Flask, Response, g, jsonify, request
from pydantic import ValidationError
from werkzeug.exceptions import ClientDisconnected, HTTPException, MethodNotAllowed, NotFound, RequestEntityTooLarge
from wsproto.utilities import ProtocolError

from app.core import errors
from app.http.server.refusals import BrokenBody
from app.http.solutions.answers import is_solutions_api, solutions_failure
from app.store.engine import DatabaseUnavailable
from app.store.errors import log_words, words_for

log = structlog.get_logger(__name__)

HTTP_STATUS_OF: dict[str, int] = {
    errors.InvalidInput.code: 400,
    errors.AuthFailed.code: 401,
    errors.Forbidden.code: 403,
    errors.ActionNotAllowed.code: 403,
    errors.DebateNotFound.code: 404,
    errors.ArgumentNotFound.code: 404,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    errors.DebateExists.code: 409,
    errors.RequestIdReused.code: 409,
    errors.SeatTaken.code: 409,
    errors.Conflict.code: 409,
    errors.ContentTooLarge.code: 413,
    errors.RateLimitExceeded.code: 429,
    "INTERNAL_ERROR": 500,
    errors.TooManyListeners.code: 503,
}
_OWN_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "model_type": "must be a JSON object",
}
"""Replaces pydantic's messages that are unclear or name one of our classes."""


def failure(code: str, message: str, **context: Any) -> Response:
    given = {name: value for name, value in context.items() if value is not None}
    if is_solutions_api(request.path):
        return solutions_failure(code, message, given)
    response = jsonify({"success": False, "error": {"code": code, "message": message, **given}})
    response.status_code = HTTP_STATUS_OF[code]
    return response


def first_problem(problem: ValidationError, whole: str = "body") -> errors.InvalidInput:
    """The first validation error, with a message that names the field."""
    first = problem.errors(include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or whole
    what = _OWN_WORDS.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    return errors.InvalidInput(field, what)


def invalid_request(problem: ValidationError) -> Response:
    return refused(first_problem(problem))


def refused(refusal: errors.DebateError) -> Response:
    response = failure(refusal.code, refusal.message, suggestion=refusal.suggestion, **refusal.context)
    return _retry_after(refusal.retry_after_seconds, response)


def _retry_after(seconds: int | None, response: Response) -> Response:
    if seconds is not None:
        response.headers["Retry-After"] = str(seconds)
    return response


def _database_away(problem: Exception) -> Response:
    log.error("request.database_unavailable", problem=log_words(problem))
    words = f"{words_for(problem)}. It is safe to repeat a request that has a client_request_id"
    return _retry_after(errors.RETRY_AFTER_SECONDS, failure("SERVICE_UNAVAILABLE", words))


def _http_error(problem: HTTPException) -> Response:
    if isinstance(problem, NotFound):
        return failure("NOT_FOUND", "No such URL")
    if isinstance(problem, MethodNotAllowed):
        allowed = ", ".join(sorted(problem.valid_methods or []))
        response = failure("METHOD_NOT_ALLOWED", f"This URL accepts only {allowed}")
        response.headers["Allow"] = allowed
        return response
    if isinstance(problem, ClientDisconnected):
        return failure("INVALID_INPUT", "The body is incomplete: the client stopped sending or disconnected")
    if problem.code is not None and problem.code < 500:
        return failure("INVALID_INPUT", problem.description or "The request is malformed")
    return _unexpected(problem)


_UNREADABLE: dict[type[Exception], str] = {
    BrokenBody: "The body is not valid HTTP",
    ProtocolError: "The request is not a WebSocket handshake",
    ConnectionError: "The connection was closed",  # during a handshake: no client reads this response
}


def _unreadable(problem: Exception) -> Response:
    return failure("INVALID_INPUT", next(words for kind, words in _UNREADABLE.items() if isinstance(problem, kind)))


def _unexpected(problem: Exception) -> Response:
    log.error("request.failed", exc_info=problem)
    return failure("INTERNAL_ERROR", f"Internal error; the server's log has details under request id {g.request_id}")


def register_errors(app: Flask, max_content_length: int) -> None:
    def too_large(_: RequestEntityTooLarge) -> Response:
        return failure(
            "CONTENT_TOO_LARGE",
            "The request's body is too large",
            suggestion=f"Shorten each text to {max_content_length} bytes of UTF-8 or less",
            max_length=max_content_length,
        )

    app.register_error_handler(errors.DebateError, refused)
    app.register_error_handler(RequestEntityTooLarge, too_large)
    app.register_error_handler(HTTPException, _http_error)
    for unreadable in _UNREADABLE:
        app.register_error_handler(unreadable, _unreadable)
    for away in DatabaseUnavailable:
        app.register_error_handler(away, _database_away)
    app.register_error_handler(Exception, _unexpected)
