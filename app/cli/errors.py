"""The end of a command: exit codes, failures and signals."""

import signal
import time
from enum import IntEnum
from typing import Any

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPEAT_SECONDS = 1.0
"""A wrapper (`timeout`, a terminal's process group) may send a signal twice. A person takes longer to repeat it."""


class Exit(IntEnum):
    DONE = 0
    ERROR = 1
    USAGE = 2
    NO_SERVER = 3
    REFUSED = 4  # by the state machine, or for lack of access
    TIMED_OUT = 5


class CommandFailed(Exception):
    """Ends the command with a message and a suggestion on stderr."""

    def __init__(
        self, message: str, exit_code: Exit = Exit.ERROR, suggestion: str | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.suggestion = suggestion
        self.field = field
        """The field of the request that the server refused."""


class ServerUnavailable(CommandFailed):
    """The server did not respond, or is unavailable. A retry may succeed."""

    was_answered: bool = False
    """A busy server responded, or a proxy for a server that restarts."""


class Interrupted(BaseException):
    """A signal ends this command. Not an Exception: handlers of failures must not catch it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def raise_on_signals() -> None:
    """Makes Ctrl-C, SIGTERM and a closed terminal raise Interrupted."""
    last_signal_at = float("-inf")

    def interrupt(number: int, _: Any) -> None:
        nonlocal last_signal_at
        now = time.monotonic()
        is_repeat = now - last_signal_at < REPEAT_SECONDS
        last_signal_at = now
        if not is_repeat:
            raise Interrupted(number)

    for number in ENDING_SIGNALS:
        # A signal that the shell ignores (nohup, a background job of a script) stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
