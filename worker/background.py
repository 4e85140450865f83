"""Work that is repeated for as long as the process lives: by a thread, such as a worker's sweep, or by a task that
others wake."""

import asyncio
import contextlib
import threading
from collections.abc import Callable

import structlog

from app.store.engine import DatabaseAway
from app.store.errors import log_words

log = structlog.get_logger(__name__)


class Repeat(threading.Thread):
    """Calls the action at a fixed interval until `ending` is set. A failed call is logged, and the next one follows."""

    def __init__(self, name: str, every_seconds: float, action: Callable[[], object], ending: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self._every_seconds = every_seconds
        self._action = action
        self._ending = ending

    def run(self) -> None:
        while not self._ending.wait(self._every_seconds):
            try:
                self._action()
            except DatabaseAway as problem:
                log.warning(f"{self.name}.database_away", problem=log_words(problem))
            except Exception:
                log.exception(f"{self.name}.failed")


async def wait_for(wake: asyncio.Event, seconds: float) -> None:
    """Until somebody wakes the task, or for so long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()
    wake.clear()
