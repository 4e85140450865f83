"""Ends the connections of revoked keys and signed-out sessions, and limits how many each may hold open. One query every
two seconds for all listeners of this process."""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager

from app.core.access import Caller
from app.core.errors import RateLimitExceeded
from app.observe.threads import SupervisedThread
from app.store.unavailable import tolerate_errors

CHECK_SECONDS = 2.0
SHARES = 4
"""A key or session may hold a quarter of the listeners of a process, so that none takes every place."""
RETRY_SECONDS = 10


class Hold:
    """A connection that is open under a key or session."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self.is_lost = False

    def lose(self) -> None:
        self.is_lost = True
        self._on_lost()


Holder = Callable[[Callable[[], None]], AbstractContextManager[Hold]]
"""`KeyWatch.hold` for one caller."""


class KeyWatch:
    def __init__(self, valid_keys: Callable[[Collection[bytes]], set[bytes]], most_listeners: int) -> None:
        self._valid_keys = valid_keys
        self._share = max(1, most_listeners // SHARES)
        self._lock = threading.Lock()
        self._held: dict[bytes, set[Hold]] = {}
        self._something_held = threading.Event()
        self._is_running = False

    @contextmanager
    def hold(self, caller: Caller, on_lost: Callable[[], None]) -> Iterator[Hold]:
        """Watches this caller's key or session while a connection is open. When it becomes invalid, `on_lost` is called
        from another thread, possibly more than once; it must not block. Refuses a connection beyond the caller's
        share. The operator's token has no credential and no share."""
        hold = Hold(on_lost)
        if caller.credential is None:
            yield hold
            return
        self._add(caller.credential, hold)
        try:
            yield hold
        finally:
            self._remove(caller.credential, hold)

    def check(self) -> None:
        """Compares with the database once."""
        with self._lock:
            keys = list(self._held)
        if not keys:
            return
        lost = set(keys) - self._valid_keys(keys)
        with self._lock:
            holds = [hold for key in lost for hold in self._held.get(key, ())]
        for hold in holds:
            hold.lose()

    def _add(self, key: bytes, hold: Hold) -> None:
        with self._lock:
            if len(self._held.get(key, ())) >= self._share:
                message = f"This key or session holds {self._share} listeners open here, which is its share"
                raise RateLimitExceeded(RETRY_SECONDS, message)
            self._held.setdefault(key, set()).add(hold)
            self._something_held.set()
            if not self._is_running:
                # Started on first use: gunicorn must fork before threads exist.
                self._is_running = True
                SupervisedThread("key-watch", self._run).start()

    def _remove(self, key: bytes, hold: Hold) -> None:
        with self._lock:
            self._held[key].remove(hold)
            if not self._held[key]:
                del self._held[key]
            if not self._held:
                self._something_held.clear()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            self._something_held.wait()
            pause.wait(CHECK_SECONDS)
            # While the database is unavailable, nothing new can be read either.
            with tolerate_errors("keys.check"):
                self.check()
