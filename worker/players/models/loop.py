"""The one event loop of a worker process, on a thread of its own. Model calls run on it; tasks wait for them."""

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from worker.players.base import Cancelled

Result = TypeVar("Result")
LOOK_EVERY_SECONDS = 0.1
"""How often the loop asks whether a turn was taken away."""


class ModelLoop:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._running: dict[asyncio.Task[Any], threading.Event] = {}
        self._thread = threading.Thread(target=self._run, name="models", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result], cancelled: threading.Event) -> Result:
        """Waits for the work; raises Cancelled soon after the event is set, with the work ended."""
        future = asyncio.run_coroutine_threadsafe(self._watched(work, cancelled), self.loop)
        try:
            return future.result()
        except (asyncio.CancelledError, concurrent.futures.CancelledError):
            raise Cancelled from None

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)

    async def _watched(self, work: Coroutine[Any, Any, Result], cancelled: threading.Event) -> Result:
        task = asyncio.ensure_future(work)
        self._running[task] = cancelled
        try:
            return await task
        finally:
            self._running.pop(task, None)

    def _run(self) -> None:
        watcher = self.loop.create_task(self._cancel_what_was_taken_away())
        self.loop.run_forever()
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            self.loop.run_until_complete(watcher)
        self.loop.close()

    async def _cancel_what_was_taken_away(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            taken_away = [task for task, cancelled in self._running.items() if cancelled.is_set()]
            for task in taken_away:
                # Once: a second time would interrupt it while it hangs up.
                del self._running[task]
                task.cancel()
