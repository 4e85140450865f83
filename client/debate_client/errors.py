"""The exceptions.

ClientError
├── NoAnswer            no connection, a broken one, or a timeout
├── NotADebateServer    the URL is not that of a debate-runner
└── Refused             the server refused the request: `code`, `message`, `suggestion`, `context`
    ├── Unavailable     it is busy or restarting: 429, 502, 503, 504; a retry may help
    └── InvalidInput, AuthFailed, Forbidden, ActionNotAllowed, NotFound, …: one for each code
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


class ClientError(Exception):
    """Base of all exceptions of this package."""

    @property
    def message(self) -> str:
        return str(self)


class NoAnswer(ClientError):
    """The server did not respond. It may have received the request."""

    def __init__(self, url: str, problem: Exception) -> None:
        super().__init__(f"No server answers at {url} ({str(problem) or type(problem).__name__})")
        self.problem = problem


class NotADebateServer(ClientError):
    def __init__(self, url: str, status: int) -> None:
        super().__init__(f"{url} answered {status} but is not a debate-runner")
        self.status = status


class Refused(ClientError):
    def __init__(self, status: int, error: Mapping[str, Any], retry_after_seconds: float = 0) -> None:
        self.status = status
        self.code = str(error.get("code", ""))
        self._message = str(error.get("message", ""))
        details = error.get("details") or {}
        self.suggestion: str | None = error.get("suggestion") or details.get("suggestion")
        self.context: Json = {name: value for name, value in error.items() if name not in ("code", "message")}
        """The other fields of the error: `field`, `current_state`, `max_length`, …"""
        self.retry_after_seconds = retry_after_seconds
        super().__init__(f"{self.code}: {self._message}")

    @property
    def message(self) -> str:
        return self._message


class Unavailable(Refused):
    """The server is busy, its database is unavailable, or a proxy responded for a server that is restarting."""


class RateLimited(Unavailable):
    """This caller made too many requests; `retry_after_seconds` says when the next is accepted."""


class InvalidInput(Refused):
    """A field of the request is wrong; the message names it."""


class AuthFailed(Refused):
    """No key, or one that is unknown or revoked."""


class Forbidden(Refused):
    """The key is valid, but this is not its seat or scope."""


class ActionNotAllowed(Refused):
    """The debate's state does not allow this: it is another seat's turn, or the debate is paused or closed."""


class NotFound(Refused):
    """No such debate, argument or URL."""


class DebateExists(Refused):
    """This debate_id was created under another client_request_id."""


class RequestIdReused(Refused):
    """This client_request_id was used for a different request."""


class SeatTaken(Refused):
    """Another caller holds this seat."""


class ContentTooLarge(Refused):
    """The text is too long; `context["max_length"]` is the limit in bytes."""


class InternalError(Refused):
    """An error in the server; its log has details under the request ID."""


_OF_CODE: dict[str, type[Refused]] = {
    "INVALID_INPUT": InvalidInput,
    "VALIDATION_ERROR": InvalidInput,
    "AUTH_FAILED": AuthFailed,
    "UNAUTHORIZED": AuthFailed,
    "FORBIDDEN": Forbidden,
    "ACTION_NOT_ALLOWED": ActionNotAllowed,
    "DEBATE_NOT_FOUND": NotFound,
    "ARGUMENT_NOT_FOUND": NotFound,
    "NOT_FOUND": NotFound,
    "DEBATE_EXISTS": DebateExists,
    "REQUEST_ID_REUSED": RequestIdReused,
    "SEAT_TAKEN": SeatTaken,
    "CONTENT_TOO_LARGE": ContentTooLarge,
    "INTERNAL_ERROR": InternalError,
}

UNAVAILABLE_STATUSES = frozenset({429, 502, 503, 504})
"""Responses of a busy server, and of a proxy whose server is restarting."""


def refusal(status: int, error: Mapping[str, Any], retry_after_seconds: float = 0) -> Refused:
    """The exception for an error of the API. An unknown code of a newer server is a plain `Refused`."""
    if status == 429:
        kind: type[Refused] = RateLimited
    elif status in UNAVAILABLE_STATUSES:
        kind = Unavailable
    else:
        kind = _OF_CODE.get(str(error.get("code")), Refused)
    return kind(status, error, retry_after_seconds)
