"""Closes the connections of revoked keys and signed-out sessions, and limits how many each may have open."""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager

from app.core.access import Caller
from app.core.errors import RateLimitExceeded
from app.observe.threads import SupervisedThread
from app.usecases.outages import tolerate_errors

CHECK_SECONDS = 2.0
SHARES = 4
"""A key or session may have a quarter of the listeners of a process, so that none takes every place."""
RETRY_SECONDS = 10


class WatchedKey:
    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self.is_lost = False

    def lose(self) -> None:
        self.is_lost = True
        self._on_lost()


Watch = Callable[[Callable[[], None]], AbstractContextManager[WatchedKey]]


class KeyWatch:
    def __init__(self, valid_keys: Callable[[Collection[bytes]], set[bytes]], most_listeners: int) -> None:
        self._valid_keys = valid_keys
        self._share = max(1, most_listeners // SHARES)
        self._lock = threading.Lock()
        self._open: dict[bytes, set[WatchedKey]] = {}
        self._is_any_open = threading.Event()
        self._is_running = False

    @contextmanager
    def watch(self, caller: Caller, on_lost: Callable[[], None]) -> Iterator[WatchedKey]:
        """Watches this caller's key or session while a connection is open. When it becomes invalid, `on_lost` is called
        from another thread, possibly more than once; it must not block. Refuses a connection beyond the caller's
        share. The operator's token has no credential and no share."""
        watched = WatchedKey(on_lost)
        if caller.credential is None:
            yield watched
            return
        self._add(caller.credential, watched)
        try:
            yield watched
        finally:
            self._remove(caller.credential, watched)

    def check(self) -> None:
        with self._lock:
            keys = list(self._open)
        if not keys:
            return
        lost = set(keys) - self._valid_keys(keys)
        with self._lock:
            invalid = [watched for key in lost for watched in self._open.get(key, ())]
        for watched in invalid:
            watched.lose()

    def _add(self, key: bytes, watched: WatchedKey) -> None:
        with self._lock:
            if len(self._open.get(key, ())) >= self._share:
                message = f"This key or session holds {self._share} listeners open here, which is its share"
                raise RateLimitExceeded(RETRY_SECONDS, message)
            self._open.setdefault(key, set()).add(watched)
            self._is_any_open.set()
            if not self._is_running:
                # Started on first use: gunicorn must fork before threads exist.
                self._is_running = True
                SupervisedThread("key-watch", self._run).start()

    def _remove(self, key: bytes, watched: WatchedKey) -> None:
        with self._lock:
            self._open[key].remove(watched)
            if not self._open[key]:
                del self._open[key]
            if not self._open:
                self._is_any_open.clear()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            self._is_any_open.wait()
            pause.wait(CHECK_SECONDS)
            # While the database is unavailable, nothing new can be read either.
            with tolerate_errors("keys.check"):
                self.check()
