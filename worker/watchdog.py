"""Ends a worker whose event loop is blocked, so that its supervisor starts another one.

Such a worker does not renew its lease, so its turns pass to others, but a container engine would not restart it. This
thread checks the loop. A thread of the interpreter (faulthandler) checks this one: code that never releases the
interpreter's lock stops every Python thread.
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
LAST_WORDS_SECONDS = 5.0
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
        self._ending.set()
        self._thread.join(LAST_WORDS_SECONDS)

    def look(self) -> bool:
        """True when the loop has not answered for too long. Checks are counted, not seconds: the process may have been
        frozen."""
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
            # Longer than this thread needs to find a blocked loop, which it logs better.
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
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read().decode(errors="replace")
