"""The refusals of the debate API.

DebateError                 anything a client is told about, with its code
├── InvalidInput            the request itself is wrong; names the field
├── ContentTooLarge         a text over the limit
├── AuthFailed              no token, or a wrong one
├── Forbidden               a valid key that does not hold this seat or scope
├── ActionNotAllowed        the state machine says no
├── DebateExists            this debate_id was created under another client_request_id
├── DebateNotFound
├── ArgumentNotFound
├── TooManyListeners        this server has no room for another stream; come back later, or ask another
├── NotFound                anything else that is not there, or not to be seen by whoever asks
├── Conflict                a name that is taken, a decision that was made already
└── Unprocessable           the request is well formed, and what it asks for cannot be
"""

from collections.abc import Sequence
from typing import Any


class DebateError(Exception):
    code = "INTERNAL_ERROR"

    def __init__(self, message: str, *, suggestion: str | None = None, **context: Any) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion
        self.context = context


class InvalidInput(DebateError):
    code = "INVALID_INPUT"

    def __init__(self, field: str, problem: str, **context: Any) -> None:
        super().__init__(f"{field}: {problem}", field=field, **context)


class ContentTooLarge(DebateError):
    code = "CONTENT_TOO_LARGE"

    def __init__(self, field: str, size: int, max_length: int) -> None:
        super().__init__(
            f"{field}: {size} bytes of UTF-8, and at most {max_length} are taken", max_length=max_length, field=field
        )


class AuthFailed(DebateError):
    code = "AUTH_FAILED"


class Forbidden(DebateError):
    code = "FORBIDDEN"


class ActionNotAllowed(DebateError):
    code = "ACTION_NOT_ALLOWED"

    def __init__(self, message: str, *, current_state: str, allowed_roles: Sequence[str], suggestion: str) -> None:
        super().__init__(message, suggestion=suggestion, current_state=current_state, allowed_roles=list(allowed_roles))


class DebateExists(DebateError):
    code = "DEBATE_EXISTS"


class DebateNotFound(DebateError):
    code = "DEBATE_NOT_FOUND"

    def __init__(self, debate_id: object) -> None:
        super().__init__(f"There is no debate {debate_id}")


class ArgumentNotFound(DebateError):
    code = "ARGUMENT_NOT_FOUND"

    def __init__(self, argument_id: object) -> None:
        super().__init__(f"There is no argument {argument_id}")


class TooManyListeners(DebateError):
    code = "SERVICE_UNAVAILABLE"


class NotFound(DebateError):
    code = "NOT_FOUND"


class Conflict(DebateError):
    code = "CONFLICT"


class Unprocessable(DebateError):
    code = "UNPROCESSABLE"
