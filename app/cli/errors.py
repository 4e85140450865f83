"""How a command ends."""

from enum import IntEnum


class Exit(IntEnum):
    DONE = 0
    ERROR = 1
    USAGE = 2
    NO_SERVER = 3
    REFUSED = 4  # by the state machine, or by access
    TIMED_OUT = 5


class CommandFailed(Exception):
    """Ends the command with a sentence on stderr."""

    def __init__(self, message: str, exit_code: Exit = Exit.ERROR, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.suggestion = suggestion


class Unavailable(CommandFailed):
    """No answer came, or a server's word that it cannot answer just now. Asking again may help."""

    retry_after_seconds: float = 0
    """How long the server asked us to wait, if it said so."""
