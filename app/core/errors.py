"""The errors that the API returns to clients.

DebateError                 has the code that the API answers with
├── InvalidInput            the request is invalid; names the field
├── ContentTooLarge         a text exceeds its limit
├── TooManyWords            a turn exceeds the words of its step
├── AuthFailed              no token, or a wrong one
├── Forbidden               a valid key that does not hold this seat or scope
├── ActionNotAllowed        the state machine has no such move
├── DebateExists            this debate_id was created under another client_request_id
├── SeatTaken               another caller holds the seat
├── RequestIdReused         this caller has used the client_request_id for something else
├── DebateNotFound
├── ArgumentNotFound
├── RateLimitExceeded       too many requests of this kind within a minute, or more than this caller's share
├── TooManyListeners        this server serves no more streams; retry later, or use another server
├── NotFound                anything else that does not exist, or is not visible to the caller
├── Conflict                a name that is taken, a decision that was made already
└── Unprocessable           a valid request for something impossible
"""

from collections.abc import Sequence
from typing import Any, TypeVar

Found = TypeVar("Found")
RETRY_AFTER_SECONDS = 2
"""When to retry where the server does not know."""


class DebateError(Exception):
    code = "INTERNAL_ERROR"
    retry_after_seconds: int | None = None

    def __init__(self, message: str, *, suggestion: str | None = None, **context: Any) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion
        self.context = context


def or_raise(found: Found | None, problem: DebateError) -> Found:
    """Returns the value, or raises the problem where it is None."""
    if found is None:
        raise problem
    return found


class InvalidInput(DebateError):
    code = "INVALID_INPUT"

    def __init__(self, field: str, problem: str, **context: Any) -> None:
        super().__init__(f"{field}: {problem}", field=field, **context)


class ContentTooLarge(DebateError):
    code = "CONTENT_TOO_LARGE"

    def __init__(self, field: str, size: int, max_length: int) -> None:
        super().__init__(
            f"{field}: {size} bytes of UTF-8; the limit is {max_length}",
            suggestion=f"Shorten {field} to {max_length} bytes of UTF-8 or less",
            max_length=max_length,
            field=field,
        )


class TooManyWords(DebateError):
    code = "CONTENT_TOO_LARGE"

    def __init__(self, words: int, max_words: int) -> None:
        super().__init__(
            f"content: {words:,} words; this step of the debate has at most {max_words:,}",
            suggestion=f"Shorten content to {max_words:,} words or less",
            max_words=max_words,
            field="content",
        )


class AuthFailed(DebateError):
    code = "AUTH_FAILED"


class Forbidden(DebateError):
    code = "FORBIDDEN"


class ActionNotAllowed(DebateError):
    code = "ACTION_NOT_ALLOWED"

    def __init__(
        self,
        message: str,
        *,
        current_state: str,
        allowed_roles: Sequence[str],
        suggestion: str,
        explanation: str | None = None,
    ) -> None:
        """`explanation`: the message as a person would say it, where it is the machine's."""
        said = {} if explanation is None else {"explanation": explanation}
        super().__init__(
            message, suggestion=suggestion, current_state=current_state, allowed_roles=list(allowed_roles), **said
        )


class DebateExists(DebateError):
    code = "DEBATE_EXISTS"


class RequestIdReused(DebateError):
    code = "REQUEST_ID_REUSED"

    def __init__(self, client_request_id: str, used_for: str) -> None:
        super().__init__(
            f"This client_request_id was already used {used_for}, with different content. Nothing was stored",
            suggestion="Read the stored content, or send the new request with a new client_request_id",
            client_request_id=client_request_id,
        )


class SeatTaken(DebateError):
    code = "SEAT_TAKEN"

    def __init__(self, role: str) -> None:
        super().__init__(
            f"The seat of the {role} is taken",
            suggestion="Take another seat, or another debate: GET /debates?pending_first_opponent=true lists open ones",
            role=role,
        )


class DebateNotFound(DebateError):
    code = "DEBATE_NOT_FOUND"

    def __init__(self, debate_id: object) -> None:
        super().__init__(f"There is no debate {debate_id}")


class ArgumentNotFound(DebateError):
    code = "ARGUMENT_NOT_FOUND"

    def __init__(self, argument_id: object) -> None:
        super().__init__(f"There is no argument {argument_id}")


class RateLimitExceeded(DebateError):
    code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, retry_after_seconds: int, message: str = "Too many requests within a minute") -> None:
        super().__init__(message, suggestion=f"Retry after {retry_after_seconds} seconds")
        self.retry_after_seconds = retry_after_seconds


class TooManyListeners(DebateError):
    code = "SERVICE_UNAVAILABLE"
    retry_after_seconds = RETRY_AFTER_SECONDS


class NotFound(DebateError):
    code = "NOT_FOUND"


class Conflict(DebateError):
    code = "CONFLICT"


class Unprocessable(DebateError):
    code = "UNPROCESSABLE"
