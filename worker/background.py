"""A thread that repeats an action, such as a worker's sweep."""

import threading
from collections.abc import Callable

import structlog

from app.store.engine import DatabaseAway
from app.store.errors import log_words

log = structlog.get_logger(__name__)


class Repeat(threading.Thread):
    """Calls the action at a fixed interval until it is stopped. A failed call is logged, and the next one follows."""

    def __init__(self, name: str, every_seconds: float, action: Callable[[], object]) -> None:
        super().__init__(name=name, daemon=True)
        self._every_seconds = every_seconds
        self._action = action
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(self._every_seconds):
            try:
                self._action()
            except DatabaseAway as problem:
                log.warning(f"{self.name}.database_away", problem=log_words(problem))
            except Exception:
                log.exception(f"{self.name}.failed")

    def stop(self) -> None:
        self._stopping.set()
