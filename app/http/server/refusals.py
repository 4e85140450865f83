"""The response to a request that gunicorn cannot parse, and its log line. Neither quotes the request, which may hold a
key."""

import json
from http import HTTPStatus
from typing import Any

import structlog
from gunicorn.http import errors

from app.http.request_log import new_request_id
from app.observe import metrics

log = structlog.get_logger(__name__)

_REFUSALS: dict[type[Exception], tuple[HTTPStatus, str]] = {
    errors.InvalidRequestLine: (HTTPStatus.BAD_REQUEST, "The request line is not valid HTTP"),
    errors.InvalidRequestMethod: (HTTPStatus.BAD_REQUEST, "The request's method is not valid HTTP"),
    errors.InvalidHTTPVersion: (HTTPStatus.BAD_REQUEST, "The request's HTTP version is not supported"),
    errors.InvalidHeader: (HTTPStatus.BAD_REQUEST, "A header of the request is not valid HTTP"),
    errors.InvalidHeaderName: (HTTPStatus.BAD_REQUEST, "The name of a header of the request is not valid HTTP"),
    errors.ObsoleteFolding: (HTTPStatus.BAD_REQUEST, "A header of the request is folded over several lines"),
    errors.LimitRequestLine: (HTTPStatus.REQUEST_URI_TOO_LONG, "The request line is too long"),
    errors.LimitRequestHeaders: (
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The request has too many headers, or one that is too long",
    ),
    errors.ExpectationFailed: (HTTPStatus.EXPECTATION_FAILED, "The header Expect supports only 100-continue"),
    errors.UnsupportedTransferCoding: (
        HTTPStatus.NOT_IMPLEMENTED,
        "The header Transfer-Encoding supports only chunked",
    ),
}
_OTHER = (HTTPStatus.BAD_REQUEST, "The request is not valid HTTP")
_OURS = (errors.ConfigurationProblem, errors.InvalidResponseHeader, errors.InvalidResponseHeaderName)
"""Parse errors that are not the client's fault."""

BrokenBody = errors.ParseException
"""Raised inside a view that reads a body that is not valid HTTP."""


def refusal_bytes(problem: BaseException, client: Any) -> bytes:
    """The whole response. Logs and counts the request."""
    request_id = new_request_id()
    if isinstance(problem, errors.ParseException) and not isinstance(problem, _OURS):
        status, message = _REFUSALS.get(type(problem), _OTHER)
        code = "INVALID_INPUT"
        # Only the exception's class is logged: its message quotes the request.
        address = client[0] if isinstance(client, tuple) and client else None
        log.warning(
            "request.unparsable",
            request_id=request_id,
            status=int(status),
            problem=type(problem).__name__,
            client=address,
        )
    else:
        status, code = HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL_ERROR"
        message = f"Internal error; the server's log has details under request id {request_id}"
        log.error("request.failed", request_id=request_id, exc_info=problem)
    metrics.http_requests.labels("other", "none", int(status)).inc()
    body = json.dumps({"success": False, "error": {"code": code, "message": message}}).encode() + b"\n"
    head = (
        f"HTTP/1.1 {int(status)} {status.phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nX-Request-ID: {request_id}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
