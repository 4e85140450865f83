"""The envelope of the solutions API: camelCase, and codes of its own for the same refusals."""

from typing import Any

from flask import Response, g, jsonify

PREFIX = "/api/v1"
ERRORS: dict[str, tuple[str, int]] = {
    "INVALID_INPUT": ("VALIDATION_ERROR", 400),
    "AUTH_FAILED": ("UNAUTHORIZED", 401),
    "FORBIDDEN": ("FORBIDDEN", 403),
    "NOT_FOUND": ("NOT_FOUND", 404),
    "METHOD_NOT_ALLOWED": ("METHOD_NOT_ALLOWED", 405),
    "CONFLICT": ("CONFLICT", 409),
    "CONTENT_TOO_LARGE": ("CONTENT_TOO_LARGE", 413),
    "UNPROCESSABLE": ("VALIDATION_ERROR", 422),
    "RATE_LIMIT_EXCEEDED": ("RATE_LIMIT_EXCEEDED", 429),
    "INTERNAL_ERROR": ("INTERNAL_ERROR", 500),
    "SERVICE_UNAVAILABLE": ("SERVICE_UNAVAILABLE", 503),
}
"""The core's code → the code and the status of this API."""


def is_solutions_api(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def solutions_success(data: Any, status: int = 200, meta: dict[str, Any] | None = None) -> tuple[Response, int]:
    body = {"ok": True, "data": data, **({"meta": meta} if meta is not None else {}), "requestId": g.request_id}
    return jsonify(body), status


def solutions_failure(code: str, message: str, details: dict[str, Any]) -> Response:
    shown, status = ERRORS[code]
    error = {"code": shown, "message": message, **({"details": _camel(details)} if details else {})}
    response = jsonify({"ok": False, "error": error, "requestId": g.request_id})
    response.status_code = status
    return response


def _camel(details: dict[str, Any]) -> dict[str, Any]:
    return {_camel_case(name): value for name, value in details.items()}


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
