"""How a command ends: exit codes, failures, and the signals that end it."""

import signal
import time
from enum import IntEnum
from typing import Any

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPEAT_SECONDS = 1.0
"""A wrapper (`timeout`, a terminal's process group) may send one signal twice; a person takes longer to repeat it."""


class Exit(IntEnum):
    DONE = 0
    ERROR = 1
    USAGE = 2
    NO_SERVER = 3
    REFUSED = 4  # by the state machine, or for lack of access
    TIMED_OUT = 5


class CommandFailed(Exception):
    """Ends the command: the message and the suggestion are printed on stderr."""

    def __init__(
        self, message: str, exit_code: Exit = Exit.ERROR, suggestion: str | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.suggestion = suggestion
        self.field = field
        """Of the request, where the server refused it for one."""


class ServerUnavailable(CommandFailed):
    """The server did not answer, or answered that it is not available now. A retry may help."""

    was_answered: bool = False
    """A server answered that it is busy, or a proxy answered for a server that is restarting."""


class Interrupted(BaseException):
    """A signal ends this command. Not an Exception, so that no handler of failures catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def raise_on_signals() -> None:
    """From now on Ctrl-C, SIGTERM and a closed terminal all raise Interrupted."""
    last_signal_at = float("-inf")

    def interrupt(number: int, _: Any) -> None:
        nonlocal last_signal_at
        now = time.monotonic()
        is_repeat = now - last_signal_at < REPEAT_SECONDS
        last_signal_at = now
        if not is_repeat:
            raise Interrupted(number)

    for number in ENDING_SIGNALS:
        # A signal that the shell made us ignore (nohup, a background job of a script) stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
