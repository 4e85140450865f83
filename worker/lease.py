"""This process's lease: one row that is renewed every few seconds keeps all its claims alive.

After an outage the lease is renewed if no sweeper has released its claims yet: a paid answer is not dropped. A process
that was frozen, or whose claims were released, cancels all its work and begins a new lease under a new id.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import structlog

from app.usecases.outages import tolerate_errors, tolerate_outage
from app.usecases.services import Services
from app.usecases.sweep import begin_lease, end_lease, renew_lease

log = structlog.get_logger(__name__)

_AFTER_TROUBLE_SECONDS = 0.5


class Lease:
    def __init__(self, services: Services, name: str, on_lost: Callable[[], None]) -> None:
        """`on_lost` is called on the event loop when everything claimed under the lease is lost."""
        # Nothing else that this worker does may keep it from renewing its lease in time.
        self._services = replace(services, engine=services.engine.reserve_connection())
        self._name = name
        self._on_lost = on_lost
        self._seconds = services.settings.claim_seconds
        self._number = 0
        self._executor = ThreadPoolExecutor(1, "lease")
        self._renewed_at: float | None = None
        self._had_trouble_at = float("-inf")
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def worker_id(self) -> str:
        return self._name if self._number <= 1 else f"{self._name}.{self._number}"

    @property
    def is_live(self) -> bool:
        return self._renewed_at is not None and time.monotonic() - self._renewed_at < self._seconds

    @property
    def may_sweep(self) -> bool:
        """Not right after an outage: other workers must first get the chance to renew their leases."""
        return self.is_live and time.monotonic() - self._had_trouble_at > self._seconds / 2

    def start(self) -> None:
        self._task = asyncio.create_task(self._keep())

    async def changed(self) -> None:
        """Returns after the next renewal, or when the lease is lost."""
        await self._changed.wait()

    async def end(self) -> None:
        if self._task:
            self._task.cancel()
        with tolerate_outage("lease.end"):
            # Claims in flight become due; if this fails, when the lease expires.
            await self._in_thread(end_lease)
        self._services.engine.dispose()
        self._executor.shutdown(wait=False)

    async def _keep(self) -> None:
        while True:
            pause = _AFTER_TROUBLE_SECONDS
            # Every claim lives by this task: whatever goes wrong with one renewal must not end it.
            with tolerate_errors("lease", self._had_trouble):
                await self._renew()
                pause = self._seconds / 3
            await asyncio.sleep(pause)

    def _had_trouble(self) -> None:
        self._had_trouble_at = time.monotonic()

    async def _renew(self) -> None:
        if self._renewed_at is None:
            await self._begin()
            return
        silent_seconds = time.monotonic() - self._renewed_at
        was_frozen = silent_seconds > self._seconds and self._had_trouble_at < self._renewed_at
        if was_frozen or not await self._in_thread(renew_lease):
            log.warning("lease.lost", worker_id=self.worker_id, silent_seconds=round(silent_seconds, 1))
            self._renewed_at = None
            self._on_lost()
            await self._in_thread(end_lease)
            await self._begin()
            return
        self._renewed_now()

    async def _begin(self) -> None:
        self._number += 1
        await self._in_thread(begin_lease)
        self._renewed_now()

    def _renewed_now(self) -> None:
        self._renewed_at = time.monotonic()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _in_thread(self, action: Callable[[Services, str], object]) -> object:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, action, self._services, self.worker_id)
