"""The one engine that claims work: turns, judgments, evaluations and deliveries of webhooks.

A `Kind` says what differs. Each kind has a loop, on the event loop of the process; statements run in threads, and other
threads only leave hints. Claimed work is a coroutine: while it generates, it has no thread, no connection and no lock.
A claim lives as long as the worker's lease: the sweeper releases those of a dead worker.
"""

import asyncio
import random
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import ClassVar, Generic, TypeVar
from uuid import UUID

import structlog
from cachetools import TTLCache
from structlog.contextvars import bind_contextvars

from app.core.claims import Room
from app.core.debate import Usage
from app.core.retry import NotNow, PlayerError
from app.observe import tracing
from app.usecases import claims
from app.usecases.claims import WorkKind
from app.usecases.outages import Backoff, GaveUp, until_stored
from app.usecases.services import Services
from worker.background import LoopTask
from worker.in_flight import Claimed, Ending, InFlight
from worker.lease import Lease

log = structlog.get_logger(__name__)
jitter = random.SystemRandom().random
Generated = TypeVar("Generated")
Answer = TypeVar("Answer")

MOST_HINTS = 100_000
"""Kept while there is no room. More are dropped: polling finds what they name."""
COMPARE_EVERY_SECONDS = 10.0
"""How often claims are reconciled with the database, for notices that were missed."""
ENDED_SECONDS = 10.0
"""The notice of a stop may overtake the answer of the claim. Reconciling finds what was missed for longer."""
MOST_ENDED = 10_000
RELEASE_SECONDS = 2.0
SLOW_DOWN_SECONDS = 20.0
"""After a provider said "too many requests", where it did not say how long to wait."""
STORE_AGAIN_SECONDS = 1.0


class Kind(ABC, Generic[Claimed, Generated]):
    work: ClassVar[WorkKind]
    poll_seconds: ClassVar[float] = 1.0
    """How often a worker polls for due rows."""
    pause_seconds: ClassVar[float] = 0.02
    """Between two claims, unless the first has claimed all that it might."""
    at_once: ClassVar[int]
    of_a_share: int
    """Most in flight of each share."""
    in_all: ClassVar[int] = sys.maxsize
    """Most in flight."""
    asked_for: Mapping[UUID, InFlight[Claimed]] = MappingProxyType({})

    def __init__(self, services: Services, executor: Executor) -> None:
        self.services = services
        self._executor = executor

    @abstractmethod
    def claim(self, services: Services, worker_id: str, room: Room) -> Sequence[Claimed]:
        """Claims due rows, those that hints name first. Runs in a thread."""

    # Capacity

    @abstractmethod
    def share(self, claim: Claimed) -> str:
        """Of the worker's capacity."""

    def at_most(self, room: Room) -> int:
        return room.of_any

    async def crowded(self, room: Room) -> Collection[str]:
        """The shares in which rows wait for one in flight to end."""
        return room.full

    # What is done under a claim

    def about(self, claim: Claimed) -> dict[str, str | int]:
        return {"work": self.work.value, "id": str(claim.id)}

    def span(self, _claim: Claimed) -> AbstractContextManager[None]:
        """For all that follows from the claim. Called in its task, so that it may bind what log lines say."""
        return nullcontext()

    @abstractmethod
    async def generate(self, claim: Claimed) -> Generated:
        """Raises PlayerError when it failed, or NotNow when it has to wait. May be canceled."""

    @abstractmethod
    async def store(self, in_flight: InFlight[Claimed], generated: Generated) -> Claimed | None:
        """Returns the claim that follows, if any. Raises PlayerError when the result can never be stored."""

    @abstractmethod
    async def postpone(self, in_flight: InFlight[Claimed], reason: NotNow) -> None: ...

    @abstractmethod
    async def fail(self, in_flight: InFlight[Claimed], problem: PlayerError) -> None:
        """Counts the attempt."""

    async def canceled(self, in_flight: InFlight[Claimed]) -> None:
        """What this worker has claimed is released when its lease ends."""
        log.info("work.cancelled", reason=in_flight.ending and in_flight.ending.value)

    def usage_of(self, _generated: Generated) -> Usage | None:
        return None

    async def close(self) -> None:
        """No work of this kind is in flight any more."""

    async def in_thread(self, action: Callable[..., Answer], *args: object) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._executor, action, *args)


class RowKind(Kind[Claimed, Generated]):
    """A kind whose claim ends when its result is stored. Its statements are idempotent, and retried while the database
    is unavailable: no other worker would do the work while this one lives."""

    @abstractmethod
    def record(self, services: Services, claim: Claimed, generated: Generated, /) -> None: ...

    def record_postponement(self, services: Services, claim: Claimed, reason: NotNow, /) -> None:
        """Counts an attempt, unless the kind can wait without."""
        self.record_failure(services, claim, PlayerError(reason.message), jitter())

    @abstractmethod
    def record_failure(self, services: Services, claim: Claimed, problem: PlayerError, jitter: float, /) -> None: ...

    async def store(self, in_flight: InFlight[Claimed], generated: Generated) -> Claimed | None:
        await self._until_stored(self.record, in_flight.claim, generated)
        return None

    async def postpone(self, in_flight: InFlight[Claimed], reason: NotNow) -> None:
        await self._until_stored(self.record_postponement, in_flight.claim, reason)

    async def fail(self, in_flight: InFlight[Claimed], problem: PlayerError) -> None:
        if problem.patient:
            # It will serve us in the end. Jitter keeps calls that were refused together from retrying together.
            later = NotNow(problem.message, (problem.retry_after_seconds or SLOW_DOWN_SECONDS) * (1 + jitter() / 2))
            later.usage = problem.usage
            await self.postpone(in_flight, later)
            return
        await self._until_stored(self.record_failure, in_flight.claim, problem, jitter())

    async def _until_stored(self, statement: Callable[..., None], *given: object) -> None:
        storing = partial(self.in_thread, statement, self.services, *given)
        await until_stored(storing, Backoff([STORE_AGAIN_SECONDS]), f"{self.work.value}.store")


class ClaimLoop(LoopTask, Generic[Claimed, Generated]):
    def __init__(self, lease: Lease, kind: Kind[Claimed, Generated]) -> None:
        super().__init__(f"{kind.work.value}.claim", kind.poll_seconds, kind.pause_seconds, self._after_error)
        self._lease = lease
        self._kind = kind
        self._in_flight: dict[UUID, InFlight[Claimed]] = {}
        """By token: a debate that was paused and resumed may be claimed again while the lost claim is still in
        flight."""
        self._ended: TTLCache[UUID, None] = TTLCache(MOST_ENDED, ENDED_SECONDS)
        self._rows: Counter[UUID] = Counter()
        self._in_use: Counter[str] = Counter()
        self._crowded: Collection[str] = ()
        self._hints: dict[UUID, None] = {}
        self.wants_hints = threading.Event()
        """Not set while claims find all the work without hints: reading hints would take the core that claims need."""
        self.wants_hints.set()
        self._compare_at = 0.0

    def hint(self, row_id: UUID | None = None) -> None:
        if row_id is not None:
            if row_id in self._rows or len(self._hints) >= MOST_HINTS:
                return
            self._hints[row_id] = None
        self.wake()

    def end_claim(self, token: UUID) -> None:
        """The claim has ended: its work is canceled, or does not begin if the claim is still being made."""
        in_flight = self._in_flight.get(token) or self._kind.asked_for.get(token)
        if in_flight:
            in_flight.cancel(Ending.CLAIM_ENDED)
        else:
            self._ended[token] = None

    def end_all_claims(self) -> None:
        self._cancel_all(Ending.LEASE_LOST)

    def compare_soon(self) -> None:
        self._compare_at = 0.0
        self.wake()

    async def shut_down(self, finish_seconds: float) -> None:
        """No new claims. Work in flight may finish for a while; then it is released."""
        await self.end_rounds()
        await self._finish(finish_seconds)
        self._cancel_all(Ending.SHUTDOWN)
        # What cannot be released because the database is unavailable is released when the lease ends, or expires.
        await self._finish(RELEASE_SECONDS)
        await self._kind.close()

    async def _finish(self, seconds: float) -> None:
        tasks = [in_flight.task for in_flight in self._in_flight.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def _cancel_all(self, why: Ending) -> None:
        for in_flight in list(self._in_flight.values()):
            in_flight.cancel(why)

    # Claiming

    async def _round(self) -> bool:
        # Never concurrently with a claim: what was just claimed must not be taken for unknown.
        if time.monotonic() >= self._compare_at:
            await self._reconcile()
        return await self._claim()

    def _after_error(self) -> None:
        self.wants_hints.set()
        # The connection may have been lost after the commit: then we hold claims that we do not know of.
        self._compare_at = time.monotonic() + 2 * claims.UNKNOWN_AFTER_SECONDS

    async def _claim(self) -> bool:
        """Whether there may be more to claim."""
        kind, room = self._kind, self._room()
        at_most = kind.at_most(room)
        if not self._lease.is_live or at_most <= 0:
            return False
        hints = list(islice(self._hints, room.of_any))
        for row_id in hints:
            del self._hints[row_id]
        self.wants_hints.clear()
        claimed = await kind.in_thread(kind.claim, kind.services, self._lease.worker_id, replace(room, hints=hints))
        for claim in claimed:
            self._begin(claim)
        is_last_batch = len(claimed) < at_most
        if is_last_batch:
            self.wants_hints.set()
        self._crowded = await kind.crowded(self._room())
        return not is_last_batch or bool(self._hints)

    def _room(self) -> Room:
        most = self._kind.of_a_share
        free = {share: max(0, most - count) for share, count in self._in_use.items()}
        return Room(free, most, min(self._kind.at_once, self._kind.in_all - len(self._in_flight)))

    def _begin(self, claim: Claimed) -> None:
        in_flight = InFlight(claim, self._kind.share(claim), self._may_go_on)
        self._in_use[in_flight.share] += 1
        self._rows[claim.id] += 1
        self._hints.pop(claim.id, None)
        self._in_flight[claim.token] = in_flight
        in_flight.task = asyncio.create_task(self._run(in_flight))
        if claim.token in self._ended:
            # The notice came first: as if it came now, before anything is generated.
            asyncio.get_running_loop().call_soon(self.end_claim, claim.token)

    def _leave_share(self, share: str) -> None:
        self._in_use[share] -= 1
        if not self._in_use[share]:
            del self._in_use[share]
        if share in self._crowded:
            self.wake()

    # Work in flight

    async def _run(self, in_flight: InFlight[Claimed]) -> None:
        """One claim after another, while this worker continues."""
        kind, row_id = self._kind, in_flight.claim.id
        try:
            with kind.span(in_flight.claim):
                following: Claimed | None = in_flight.claim
                while following is not None:
                    about = kind.about(following)
                    # The task has its own context, so nothing has to be unbound.
                    bind_contextvars(**about)
                    with tracing.span(kind.work.value, about):
                        following = await self._take(in_flight)
                    if following is not None:
                        self._go_on(in_flight, following)
        except GaveUp:
            log.error("work.given_up")
        except Exception:
            # The claim is released when claims are reconciled, so that a bug does not repeat without pause.
            log.exception("work.crashed")
        finally:
            del self._in_flight[in_flight.claim.token]
            self._rows[row_id] -= 1
            if not self._rows[row_id]:
                del self._rows[row_id]
            self._leave_share(in_flight.share)

    def _go_on(self, in_flight: InFlight[Claimed], following: Claimed) -> None:
        del self._in_flight[in_flight.claim.token]
        self._in_flight[following.token] = in_flight
        in_flight.claim = following
        share = self._kind.share(following)
        if share != in_flight.share:
            self._in_use[share] += 1
            self._leave_share(in_flight.share)
            in_flight.share = share

    async def _take(self, in_flight: InFlight[Claimed]) -> Claimed | None:
        kind = self._kind
        try:
            with in_flight.cancelable():
                generated = await kind.generate(in_flight.claim)
        except asyncio.CancelledError:
            await kind.canceled(in_flight)
        except NotNow as reason:
            await kind.postpone(in_flight, reason)
        except PlayerError as problem:
            await self._fail(in_flight, problem)
        except Exception as problem:
            # A bug in one player must not end the process, nor be retried in silence.
            log.exception("player.crashed")
            await self._fail(in_flight, PlayerError(f"{type(problem).__name__}: {problem}", kind="crash"))
        else:
            return await self._store(in_flight, generated)
        return None

    async def _store(self, in_flight: InFlight[Claimed], generated: Generated) -> Claimed | None:
        try:
            return await self._kind.store(in_flight, generated)
        except PlayerError as problem:
            await self._fail(in_flight, problem)
        except GaveUp:
            raise
        except Exception as problem:
            # The attempt counts, or the player would be asked forever.
            log.exception("work.not_stored")
            await self._fail(in_flight, _not_stored(problem, self._kind.usage_of(generated)))
        return None

    async def _fail(self, in_flight: InFlight[Claimed], problem: PlayerError) -> None:
        tracing.note({"failure": problem.kind})
        try:
            await self._kind.fail(in_flight, problem)
        except GaveUp:
            raise
        except Exception as reason:
            # An attempt counts, whatever the words or the figures were that could not be stored.
            log.exception("failure.not_stored")
            await self._kind.fail(in_flight, _not_stored(reason))

    def _may_go_on(self, used: str, share: str) -> bool:
        if self._is_ending or share in self._crowded:
            return False
        return share == used or self._in_use[share] < self._kind.of_a_share

    # Keeping up

    async def _reconcile(self) -> None:
        """Cancels work whose claim has ended, and releases claims that this worker does not know of."""
        kind, known_at = self._kind, time.monotonic()
        self._compare_at = known_at + COMPARE_EVERY_SECONDS
        generating = [
            (one.claim.id, token) for token, one in self._in_flight.items() if one.is_cancelable and not one.ending
        ]
        known = [*self._in_flight, *kind.asked_for]
        about = (kind.services, kind.work, self._lease.worker_id, generating, known, known_at)
        for token in await kind.in_thread(claims.reconcile, *about):
            in_flight = self._in_flight.get(token)
            # One that no longer generates may have ended its claim by its own commit, which is not answered yet.
            if in_flight and in_flight.is_cancelable:
                in_flight.cancel(Ending.CLAIM_ENDED)


def _not_stored(reason: Exception, usage: Usage | None = None) -> PlayerError:
    return PlayerError(f"The outcome could not be stored ({type(reason).__name__}).", kind="store", usage=usage)
