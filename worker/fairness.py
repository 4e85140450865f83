"""When a task that has a debate in hand should let another debate have the thread."""

import threading
import time
from collections.abc import Callable

from app.queue import QueueUnavailable

ASK_EVERY_SECONDS = 0.25
SLICE_SECONDS = 3.0
"""A debate that others wait for keeps its thread for this long: handing over costs a trip through the queue."""
LONGEST_SECONDS = 600.0
"""Even with nobody waiting a task ends here, long before Redis would hand it out again as lost."""


class Fairness:
    def __init__(self, queue_length: Callable[[], int]) -> None:
        self._queue_length = queue_length
        self._lock = threading.Lock()
        self._asked_at = float("-inf")
        self._others_wait = False

    def may_go_on(self, started_at: float) -> bool:
        """`started_at` is when this task took its debate up, on time.monotonic()."""
        worked = time.monotonic() - started_at
        if worked >= LONGEST_SECONDS:
            return False
        return worked < SLICE_SECONDS or not self._do_others_wait()

    def _do_others_wait(self) -> bool:
        """Asks Redis at most a few times a second, whatever the number of threads."""
        now = time.monotonic()
        with self._lock:
            if now - self._asked_at < ASK_EVERY_SECONDS:
                return self._others_wait
            self._asked_at = now
        try:
            waiting = self._queue_length() > 0
        except QueueUnavailable:
            waiting = False
        with self._lock:
            self._others_wait = waiting
        return waiting
