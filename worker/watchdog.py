"""Ends a worker whose event loop is blocked, so that its supervisor starts another one.

A container engine does not restart what is unhealthy, only what has ended. A worker whose loop hangs renews its lease
no more, so its turns pass to other workers, but it would stay there and do nothing for ever. Ending it at once is as
safe as SIGKILL.

Two clocks watch. This thread asks the loop for a sign of life. A thread of the interpreter itself (faulthandler)
watches this one: code that never lets go of the interpreter's lock, such as a regular expression that does not end,
stops every Python thread.
"""

import asyncio
import faulthandler
import os
import tempfile
import threading

import structlog

log = structlog.get_logger(__name__)

EXIT_CODE = 1
LOOKS = 10
"""How often the loop is checked within the time that it may be blocked."""
LAST_WORDS_SECONDS = 5.0
"""For the log line: what hangs may be the log itself."""
_STDERR = 2


class Watchdog:
    def __init__(self, loop: asyncio.AbstractEventLoop, hang_seconds: float) -> None:
        self._loop = loop
        self._hang_seconds = hang_seconds
        self._ending = threading.Event()
        self._missed = 0
        self._is_answered = True
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Call it before the loop is closed."""
        self._ending.set()
        self._thread.join(LAST_WORDS_SECONDS)

    def look(self) -> bool:
        """Asks the loop for a sign of life; true when it has given none for too long.

        Looks are counted and not seconds: a process that was frozen or a machine that slept has not looked either.
        """
        if self._is_answered:
            self._missed = 0
            self._is_answered = False
            self._loop.call_soon_threadsafe(self._answer)
        else:
            self._missed += 1
        return self._missed >= LOOKS

    def _answer(self) -> None:
        self._is_answered = True

    def _watch(self) -> None:
        while True:
            # Longer than this thread needs to find a hanging loop by itself, which it says better.
            faulthandler.dump_traceback_later(2 * self._hang_seconds, exit=True, file=_STDERR)
            if self._ending.wait(self._hang_seconds / LOOKS):
                break
            if self.look():
                self._end_process()
        faulthandler.cancel_dump_traceback_later()

    def _end_process(self) -> None:
        last = threading.Timer(LAST_WORDS_SECONDS, os._exit, (EXIT_CODE,))
        last.daemon = True
        last.start()
        try:
            log.critical("worker.event_loop_blocked", hang_seconds=self._hang_seconds, stacks=_stacks())
        finally:
            os._exit(EXIT_CODE)


def _stacks() -> str:
    """What every thread is doing, the latest call of each first."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read().decode(errors="replace")
