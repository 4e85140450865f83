"""From what went wrong to what the client is told. No stack trace, SQL or secret leaves the server."""

from typing import Any

import structlog
from flask import Flask, Response, current_app, g, jsonify, request
from flask_limiter import RateLimitExceeded
from pydantic import ValidationError
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound, RequestEntityTooLarge
from wsproto.utilities import ProtocolError

from app.api.rates import retry_after_seconds
from app.api.v1.envelope import is_solutions_api, solutions_failure
from app.core import errors
from app.store.engine import DatabaseAway
from app.store.trouble import log_words, words_for

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
    errors.ContentTooLarge.code: 413,
    "RATE_LIMIT_EXCEEDED": 429,
    "INTERNAL_ERROR": 500,
    errors.TooManyListeners.code: 503,
}
RETRY_AFTER_SECONDS = 2
_OWN_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "model_type": "must be a JSON object",
}
"""Where pydantic's would be unclear, or name a class of ours."""


def failure(code: str, message: str, **context: Any) -> Response:
    given = {name: value for name, value in context.items() if value is not None}
    if is_solutions_api(request.path):
        return solutions_failure(code, message, given)
    response = jsonify({"success": False, "error": {"code": code, "message": message, **given}})
    response.status_code = HTTP_STATUS_OF[code]
    return response


def first_problem(problem: ValidationError, whole: str = "body") -> errors.InvalidInput:
    """In words that name the field."""
    first = problem.errors(include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or whole
    what = _OWN_WORDS.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    return errors.InvalidInput(field, what)


def invalid_request(problem: ValidationError) -> Response:
    return _refused(first_problem(problem))


def _refused(refusal: errors.DebateError) -> Response:
    return failure(refusal.code, refusal.message, suggestion=refusal.suggestion, **refusal.context)


def _try_later(refusal: errors.TooManyListeners) -> Response:
    return _later(_refused(refusal))


def _later(response: Response) -> Response:
    response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _too_many(_: RateLimitExceeded) -> Response:
    seconds = retry_after_seconds(current_app)
    response = failure(
        "RATE_LIMIT_EXCEEDED", "Too many requests within a minute", suggestion=f"Ask again in {seconds} seconds"
    )
    response.headers["Retry-After"] = str(seconds)
    return response


def _database_away(problem: Exception) -> Response:
    log.error("request.database_away", problem=log_words(problem))
    words = f"{words_for(problem)}. A change is safe to repeat with its client_request_id"
    return _later(failure("SERVICE_UNAVAILABLE", words))


def _http_error(problem: HTTPException) -> Response:
    if isinstance(problem, NotFound):
        return failure("NOT_FOUND", "There is nothing at this address")
    if isinstance(problem, MethodNotAllowed):
        allowed = ", ".join(sorted(problem.valid_methods or []))
        response = failure("METHOD_NOT_ALLOWED", f"This address takes {allowed}")
        response.headers["Allow"] = allowed
        return response
    if problem.code is not None and problem.code < 500:
        return failure("INVALID_INPUT", problem.description or "The request is malformed")
    return _unexpected(problem)


def _bad_handshake(problem: ProtocolError) -> Response:
    return failure("INVALID_INPUT", f"This is no WebSocket handshake: {problem}")


def _client_gone(_: ConnectionError) -> Response:
    """In the middle of a handshake; nobody reads this answer."""
    return failure("INVALID_INPUT", "The connection was closed")


def _unexpected(problem: Exception) -> Response:
    log.error("request.failed", exc_info=problem)
    return failure("INTERNAL_ERROR", f"Something went wrong; the log has it under the request id {g.request_id}")


def register_errors(app: Flask, max_content_length: int) -> None:
    def too_large(_: RequestEntityTooLarge) -> Response:
        return failure("CONTENT_TOO_LARGE", "The request's body is far too large", max_length=max_content_length)

    app.register_error_handler(errors.DebateError, _refused)
    app.register_error_handler(errors.TooManyListeners, _try_later)
    app.register_error_handler(ProtocolError, _bad_handshake)
    app.register_error_handler(ConnectionError, _client_gone)
    app.register_error_handler(RequestEntityTooLarge, too_large)
    app.register_error_handler(RateLimitExceeded, _too_many)
    app.register_error_handler(HTTPException, _http_error)
    for away in DatabaseAway:
        app.register_error_handler(away, _database_away)
    app.register_error_handler(Exception, _unexpected)
