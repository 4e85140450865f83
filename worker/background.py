"""Work that is repeated: by a thread, such as a worker's sweep, or by a task on the process' event loop."""

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

import structlog

from app.store.engine import DatabaseAway
from app.store.errors import log_words
from app.usecases.services import Services

log = structlog.get_logger(__name__)
Answer = TypeVar("Answer")


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


GATHER_SECONDS = 0.02
"""Hints that come within this time are followed together, so that no flood of hints makes a loop run without pause."""


class LoopTask(ABC):
    """A task that repeats its work whenever it is woken, or after a while. Statements run in threads."""

    def __init__(self, services: Services, executor: Executor) -> None:
        self._services = services
        self._executor = executor
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._repeat())

    @abstractmethod
    async def _repeat(self) -> None: ...

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        await asyncio.sleep(GATHER_SECONDS)
        self._wake.clear()

    async def _in_thread(self, action: Callable[..., Answer], *args: object) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._executor, action, *args)
