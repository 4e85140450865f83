"""Work that is repeated: by a thread, such as a worker's sweep, or by a task on the process' event loop."""

import asyncio
import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from app.usecases.outages import tolerate_errors


class Repeat(threading.Thread):
    """Calls the action at a fixed interval until `ending` is set. A failed call is logged, and the next one follows."""

    def __init__(self, name: str, every_seconds: float, action: Callable[[], object], ending: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self._every_seconds = every_seconds
        self._action = action
        self._ending = ending

    def run(self) -> None:
        while not self._ending.wait(self._every_seconds):
            with tolerate_errors(self.name):
                self._action()


LAST_ROUND_SECONDS = 2.0
"""A round may last this long after the end of its loop: its thread would continue to claim if it was canceled."""


class LoopTask(ABC):
    """A task that repeats its round: when it is woken, and after `poll_seconds`. No failed round ends it."""

    def __init__(
        self,
        during: str,
        poll_seconds: float,
        pause_seconds: float = 0.02,
        on_error: Callable[[], None] = lambda: None,
    ) -> None:
        """`pause_seconds` is the least between two rounds, for floods of hints. `during` names the loop in the log."""
        self._during = during
        self._poll_seconds = poll_seconds
        self._pause_seconds = pause_seconds
        self._on_error = on_error
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_ending = False

    def start(self) -> None:
        self._task = asyncio.create_task(self._repeat())

    def wake(self) -> None:
        self._wake.set()

    async def end_rounds(self) -> None:
        self._is_ending = True
        self._wake.set()
        if self._task:
            await asyncio.wait([self._task], timeout=LAST_ROUND_SECONDS)
            self._task.cancel()

    async def _repeat(self) -> None:
        while not self._is_ending:
            is_more = False
            with tolerate_errors(self._during, self._on_error):
                is_more = await self._round()
            if not is_more:
                await self._wait()

    @abstractmethod
    async def _round(self) -> bool:
        """Whether another round follows without a pause."""

    async def _wait(self) -> None:
        pause_until = time.monotonic() + self._pause_seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._poll_seconds):
                await self._wake.wait()
        await asyncio.sleep(pause_until - time.monotonic())
        self._wake.clear()
