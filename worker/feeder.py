"""Creates the next debates of experiments: when one of their debates ends (a hint), and once a second in case a hint
was lost. Any worker does this for any experiment; the lock of the experiment's row lets one at a time do it. Also
writes the plans that are too large for the request that starts an experiment."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TypeVar
from uuid import UUID

import structlog

from app.observe import metrics
from app.store.engine import DatabaseUnavailable
from app.store.unavailable import tolerate_errors
from app.usecases.experiments import feed, planning
from app.usecases.services import Services
from worker.background import LoopTask
from worker.lease import Lease

log = structlog.get_logger(__name__)
Answer = TypeVar("Answer")
LOOK_EVERY_SECONDS = 1.0


class Feeder(LoopTask):
    def __init__(self, services: Services, lease: Lease, executor: Executor, on_judgments: Callable[[], None]) -> None:
        """`on_judgments` is called when there are judgments to make."""
        super().__init__(during="feed", poll_seconds=LOOK_EVERY_SECONDS)
        self._services = services
        self._executor = executor
        self._lease = lease
        self._looked_at = float("-inf")
        self._on_judgments = on_judgments
        self._hints: dict[UUID, float] = {}
        """Experiment → when the first of its debates ended that it does not know of."""
        # A plan takes seconds: it must not keep the statements of other work waiting for a thread.
        self._planning_thread = ThreadPoolExecutor(1, "plans")
        self._plan: asyncio.Future[None] | None = None

    def hint(self, experiment_id: UUID) -> None:
        """One of its debates has ended."""
        self._hints.setdefault(experiment_id, time.monotonic())
        self.wake()

    async def shut_down(self, finish_seconds: float) -> None:
        """A plan ends with the part that is being written; another worker continues it."""
        await self.end_rounds()
        if self._plan:
            await asyncio.wait([self._plan], timeout=finish_seconds)
        self._planning_thread.shutdown(wait=False)

    async def _round(self) -> bool:
        if self._lease.is_live:
            hints, self._hints = self._hints, {}
            is_due = time.monotonic() - self._looked_at >= LOOK_EVERY_SECONDS
            at_work = await self._in_thread(feed.at_work, self._services) if is_due or not hints else {}
            self._looked_at = time.monotonic() if is_due else self._looked_at
            self._begin_plan([one for one, is_unplanned in at_work.items() if is_unplanned])
            for experiment_id in at_work or hints:
                await self._feed(experiment_id, hints.get(experiment_id))
        return False

    def _begin_plan(self, unplanned: Sequence[UUID]) -> None:
        """One at a time."""
        if unplanned and (self._plan is None or self._plan.done()):
            loop = asyncio.get_running_loop()
            self._plan = loop.run_in_executor(self._planning_thread, self._write_plan, unplanned[0])

    def _write_plan(self, experiment_id: UUID) -> None:
        with tolerate_errors("plan", experiment_id=str(experiment_id)):
            planning.write_if_unclaimed(self._services, experiment_id, self._may_plan)

    def _may_plan(self) -> bool:
        return self._lease.is_live and not self._is_ending

    async def _feed(self, experiment_id: UUID, ended_at: float | None) -> None:
        try:
            fed = await self._in_thread(feed.feed_experiment, self._services, experiment_id)
            while fed.is_more:
                fed = await self._in_thread(feed.feed_experiment, self._services, experiment_id)
        except DatabaseUnavailable:
            raise
        except Exception:
            log.exception("feeder.crashed", experiment_id=str(experiment_id))
            return
        if ended_at is not None:
            metrics.feeder_delay_seconds.observe(time.monotonic() - ended_at)
        if fed.judgments:
            self._on_judgments()

    async def _in_thread(self, action: Callable[..., Answer], *args: object) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._executor, action, *args)
