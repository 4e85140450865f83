"""Ends what a revoked key has open. One query every two seconds for all keys in use in this process, however many
listeners there are."""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager

import structlog

from app.core.access import Agent, Caller

log = structlog.get_logger(__name__)

CHECK_SECONDS = 2.0


class Hold:
    """What somebody has open under a key."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self.is_lost = False

    def lose(self) -> None:
        self.is_lost = True
        self._on_lost()


Holder = Callable[[Callable[[], None]], AbstractContextManager[Hold]]
"""`KeyWatch.hold` for one caller."""


class KeyWatch:
    def __init__(self, valid_keys: Callable[[Collection[bytes]], set[bytes]]) -> None:
        self._valid_keys = valid_keys
        self._lock = threading.Lock()
        self._held: dict[bytes, set[Hold]] = {}
        self._something_held = threading.Event()
        self._is_running = False

    @contextmanager
    def hold(self, caller: Caller, on_lost: Callable[[], None]) -> Iterator[Hold]:
        """While something is open for this caller. When its key no longer holds, `on_lost` is called in another thread,
        perhaps more than once; it must be quick."""
        hold = Hold(on_lost)
        if not isinstance(caller, Agent):
            yield hold
            return
        self._add(caller.key_hash, hold)
        try:
            yield hold
        finally:
            self._remove(caller.key_hash, hold)

    def check(self) -> None:
        """Compares once with the database."""
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
            self._held.setdefault(key, set()).add(hold)
            self._something_held.set()
            if not self._is_running:
                # Not before it is needed: a process that forks must do so first.
                self._is_running = True
                threading.Thread(target=self._run, name="key-watch", daemon=True).start()

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
            try:
                self.check()
            except Exception as problem:
                # Postgres is away: nobody can read anything new meanwhile, and the next round sees to it.
                log.warning("keys.check_failed", problem=str(problem))
