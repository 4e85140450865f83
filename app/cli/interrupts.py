"""Ctrl-C, SIGTERM and a closed terminal: all three end a command in the same orderly way."""

import signal
import time
from typing import Any

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPEAT_SECONDS = 1.0
"""A wrapper (`timeout`, a terminal's process group) may pass one wish on twice; a person who insists takes longer."""


class Interrupted(BaseException):
    """We were told to end. Not an Exception: nothing that handles failures handles this."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


class _Listener:
    def __init__(self) -> None:
        self._heard_at = float("-inf")

    def __call__(self, number: int, _: Any) -> None:
        now = time.monotonic()
        is_repeat = now - self._heard_at < REPEAT_SECONDS
        self._heard_at = now
        if not is_repeat:
            raise Interrupted(number)


def raise_when_told_to_end() -> None:
    listener = _Listener()
    for number in ENDING_SIGNALS:
        # What the shell made us ignore (nohup, a job in the background of a script) stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, listener)
