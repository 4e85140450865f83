"""Claims rows that are due, thinks about each, and settles it once: the guardrail's evaluations and judgments.

One loop per kind of work and worker process, all of it on the process' event loop; statements run in threads. While a
row is thought about, nothing is locked and no connection is held. A claim lives as long as the worker's lease: what a
dead worker has claimed is released by the sweeper.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from app.core.retry import NotNow, PlayerError
from app.store.engine import DatabaseAway
from app.store.errors import log_words
from app.usecases.services import Services
from worker.background import LoopTask
from worker.lease import Lease
from worker.patience import GaveUp, Patience

log = structlog.get_logger(__name__)
_jitter = random.SystemRandom().random
LOOK_EVERY_SECONDS = 1.0
"""How often a worker looks for due rows that no hint has told it of."""
SLOW_DOWN_SECONDS = 20.0
"""After a provider said "too many requests", where it did not say how long to wait."""
RELEASE_AFTER_SECONDS = 2.0
"""After trouble with a claim: as long as Postgres may take to notice that its client is gone."""
AFTER_TROUBLE_SECONDS = 1.0
"""Between tries to store an opinion while the database is away."""


class ClaimedRow(Protocol):
    @property
    def id(self) -> UUID: ...

    @property
    def token(self) -> UUID: ...


Claimed = TypeVar("Claimed", bound=ClaimedRow)
Opinion = TypeVar("Opinion")


class KindOfWork(Protocol[Claimed, Opinion]):
    """One kind of work. Everything but `think` runs in a thread."""

    name: str
    """For the log."""
    at_once: int
    """Most that are claimed in one statement."""
    in_hand: int
    """Most that are thought about at the same time, of each share."""

    def claim(self, services: Services, worker_id: str, at_most: int, full_shares: Sequence[str]) -> list[Claimed]: ...

    def share(self, held: Claimed) -> str: ...

    async def think(self, held: Claimed) -> Opinion:
        """Raises PlayerError when it failed, or NotNow when it has to wait."""

    def settle(self, services: Services, held: Claimed, opinion: Opinion) -> None: ...

    def postpone(self, services: Services, held: Claimed, reason: NotNow) -> None: ...

    def record_failure(self, services: Services, held: Claimed, problem: PlayerError, jitter: float) -> None: ...

    def release_unknown(self, services: Services, worker_id: str, known: Sequence[UUID]) -> None: ...


class ClaimLoop(LoopTask, Generic[Claimed, Opinion]):
    def __init__(
        self, services: Services, lease: Lease, executor: Executor, work: KindOfWork[Claimed, Opinion]
    ) -> None:
        super().__init__(services, executor)
        self._lease = lease
        self._work = work
        self._in_hand: dict[asyncio.Task[None], Claimed] = {}
        self._in_use: Counter[str] = Counter()
        """By share."""
        self._release_at = float("inf")
        """When to release what this worker has claimed and does not know of."""

    def hint(self) -> None:
        """Call it when something is due."""
        self._wake.set()

    def end_all_claims(self) -> None:
        for task in self._in_hand:
            task.cancel()

    async def shut_down(self, finish_seconds: float) -> None:
        """Those in hand may finish for a while; what is left becomes due when the lease ends."""
        if self._task:
            self._task.cancel()
        if self._in_hand:
            await asyncio.wait(list(self._in_hand), timeout=finish_seconds)
        self.end_all_claims()
        if self._in_hand:
            await asyncio.wait(list(self._in_hand), timeout=1)

    async def _repeat(self) -> None:
        while True:
            claimed: list[Claimed] = []
            at_most = self._room()
            try:
                # Never beside a claim: what was just claimed must not be taken for unknown.
                if time.monotonic() >= self._release_at:
                    await self._release_unknown()
                if self._lease.is_live:
                    claimed = await self._claim(at_most)
            except DatabaseAway as problem:
                log.warning("work.database_away", work=self._work.name, problem=log_words(problem))
                # The connection may have been lost after the commit: then we hold claims that we do not know of.
                self._release_soon()
            except Exception:
                # This task feeds all work of this kind: whatever goes wrong with one claim must not end it.
                log.exception("work.claim_failed", work=self._work.name)
                self._release_soon()
            for held in claimed:
                self._begin(held)
            if len(claimed) < at_most:
                await self._wait(LOOK_EVERY_SECONDS)

    def _room(self) -> int:
        """No more than the smallest free room: any of them may turn out to be of that share."""
        free = (self._work.in_hand - count for count in self._in_use.values() if count < self._work.in_hand)
        return min([self._work.at_once, *free])

    async def _claim(self, at_most: int) -> list[Claimed]:
        full = [share for share, count in self._in_use.items() if count >= self._work.in_hand]
        return await self._in_thread(self._work.claim, self._services, self._lease.worker_id, at_most, full)

    def _begin(self, held: Claimed) -> None:
        task = asyncio.create_task(self._run(held))
        self._in_hand[task] = held
        self._in_use[self._work.share(held)] += 1
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        share = self._work.share(self._in_hand.pop(task))
        self._in_use[share] -= 1
        if self._in_use[share] == self._work.in_hand - 1:
            self._wake.set()
        if not self._in_use[share]:
            del self._in_use[share]

    def _release_soon(self) -> None:
        self._release_at = time.monotonic() + RELEASE_AFTER_SECONDS

    async def _release_unknown(self) -> None:
        known = [held.token for held in self._in_hand.values()]
        await self._in_thread(self._work.release_unknown, self._services, self._lease.worker_id, known)
        self._release_at = float("inf")

    async def _run(self, held: Claimed) -> None:
        try:
            await self._settle(held)
        except GaveUp:
            log.error("work.given_up", work=self._work.name, id=str(held.id))
            self._release_soon()
        except Exception as problem:
            log.exception("work.crashed", work=self._work.name, id=str(held.id))
            await self._count_attempt(held, type(problem).__name__)

    async def _count_attempt(self, held: Claimed, problem: str) -> None:
        """Whatever the words or the figures were that could not be stored: a model must not be asked for ever."""
        plain = PlayerError(f"The outcome could not be stored ({problem}).", kind="store")
        try:
            await self._store(held, self._work.record_failure, plain, _jitter())
        except Exception:
            # Released a little later, so that a bug does not repeat in a tight loop.
            log.exception("work.not_counted", work=self._work.name, id=str(held.id))
            self._release_soon()

    async def _settle(self, held: Claimed) -> None:
        try:
            opinion = await self._work.think(held)
        except NotNow as reason:
            await self._store(held, self._work.postpone, reason)
        except PlayerError as problem:
            await self._failed(held, problem)
        except Exception as problem:
            # Whatever is wrong with a player, what it was asked about must not stay open for it.
            log.exception("player.crashed", work=self._work.name, id=str(held.id))
            await self._failed(held, PlayerError(f"{type(problem).__name__}: {problem}", kind="crash"))
        else:
            await self._store(held, self._work.settle, opinion)

    async def _failed(self, held: Claimed, problem: PlayerError) -> None:
        if problem.patient:
            # It will serve us in the end. Spread, so that those who were refused together do not come back together.
            later = NotNow(problem.message, (problem.retry_after_seconds or SLOW_DOWN_SECONDS) * (1 + _jitter() / 2))
            later.usage = problem.usage
            await self._store(held, self._work.postpone, later)
            return
        await self._store(held, self._work.record_failure, problem, _jitter())

    async def _store(self, held: Claimed, action: Callable[..., None], *what: object) -> None:
        """Until the database is back: the claim lasts as long as this worker does, so nobody else would look at it. One
        that was stored although its answer was lost has no claim any more, and storing it again does nothing."""
        patience = Patience([AFTER_TROUBLE_SECONDS])
        while True:
            try:
                return await self._in_thread(action, self._services, held, *what)
            except DatabaseAway as problem:
                log.warning("work.not_settled", work=self._work.name, id=str(held.id), problem=log_words(problem))
            await patience.pause()
