"""Supervised threads: they live as long as their process and are restarted, with a backoff, when they crash.

A thread that keeps crashing or is gone counts as down, and `/ready` reports it, until it runs steadily again. A target
that returns has ended on purpose.
"""

import threading
import time
from collections.abc import Callable

import structlog

from app.observe import metrics

log = structlog.get_logger(__name__)

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
CRASHES_UNTIL_DOWN = 3
"""In a row. A single crash is repaired within a second and must not take every process out of a load balancer."""
STEADY_SECONDS = 30.0
"""A run that lasts this long resets the count of crashes in a row."""

_lock = threading.Lock()
_started: set["SupervisedThread"] = set()


class SupervisedThread:
    def __init__(self, name: str, target: Callable[[], object], ending: threading.Event | None = None) -> None:
        self.name = name
        self._target = target
        self._ending = ending or threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._crashes_in_a_row = 0
        self._run_began_at: float | None = None

    def start(self) -> None:
        # Under the lock: a target that returns immediately must be in the registry before it removes itself.
        with _lock:
            self._thread.start()
            _started.add(self)

    def join(self, timeout_seconds: float) -> None:
        self._thread.join(timeout_seconds)

    @property
    def is_down(self) -> bool:
        if not self._thread.is_alive():
            return True
        began_at = self._run_began_at
        is_steady = began_at is not None and time.monotonic() - began_at >= STEADY_SECONDS
        return self._crashes_in_a_row >= CRASHES_UNTIL_DOWN and not is_steady

    def _run(self) -> None:
        while not self._has_ended():
            self._ending.wait(self._pause_seconds())
        # Not in a `finally`: a thread ended by SystemExit or a killed greenlet stays registered and counts as down.
        with _lock:
            _started.discard(self)

    def _has_ended(self) -> bool:
        self._run_began_at = began_at = time.monotonic()
        try:
            self._target()
        except Exception:
            if time.monotonic() - began_at >= STEADY_SECONDS:
                self._crashes_in_a_row = 0
            self._crashes_in_a_row += 1
            self._run_began_at = None
            metrics.thread_restarts.labels(self.name).inc()
            log.exception("thread.crashed", thread=self.name, restart_after_seconds=self._pause_seconds())
            return self._ending.is_set()
        return True

    def _pause_seconds(self) -> float:
        # The exponent is bounded: a thread may crash for weeks, and the float would overflow.
        return min(FIRST_PAUSE_SECONDS * 2.0 ** min(self._crashes_in_a_row - 1, 10), LONGEST_PAUSE_SECONDS)


def down() -> list[str]:
    with _lock:
        started = list(_started)
    return sorted({thread.name for thread in started if thread.is_down})
