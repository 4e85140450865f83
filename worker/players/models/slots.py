"""Limits the concurrent calls to each provider to this process's part of the slots of all processes.

Slots pass from call to call within the process; the database is asked, in a thread, only to change or renew them.
"""

import asyncio
import collections
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

from app.usecases.model_calls import LEASE_SECONDS
from app.usecases.outages import tolerate_errors, tolerate_outage

Share = Callable[[str, int, int], int]
"""Takes the provider, the slots held and the slots wanted; returns how many may be held. It asks the database."""
RENEW_EVERY_SECONDS = LEASE_SECONDS / 4
ASK_EVERY_SECONDS = 0.1
_AFTER_TROUBLE_SECONDS = 1.0


class Slots:
    def __init__(self, share: Share) -> None:
        self._share = share
        self._executor = ThreadPoolExecutor(1, "slots")
        self._providers: dict[str, _Provider] = {}

    @contextlib.asynccontextmanager
    async def one_of(self, provider: str, behind: bool = False) -> AsyncIterator[None]:
        """Waits for a slot. With `behind`, others go first: experiments never delay other debates."""
        if provider not in self._providers:
            self._providers[provider] = _Provider(provider, self._share, self._executor)
        slots = self._providers[provider]
        await slots.take(behind)
        try:
            yield
        finally:
            slots.give_back()

    async def close(self) -> None:
        for slots in self._providers.values():
            await slots.close()
        self._executor.shutdown(wait=False)


class _Provider:
    def __init__(self, name: str, share: Share, executor: ThreadPoolExecutor) -> None:
        self._name = name
        self._share = share
        self._executor = executor
        self._held = 0
        self._in_use = 0
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()
        self._behind: collections.deque[asyncio.Future[None]] = collections.deque()
        self._asked_at = float("-inf")
        self._something_changed = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep())

    async def take(self, behind: bool = False) -> None:
        turn = asyncio.get_running_loop().create_future()
        queue = self._behind if behind else self._waiting
        queue.append(turn)
        self._hand_out()
        if not turn.done():
            self._something_changed.set()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            elif turn in queue:  # `_hand_out` drops it where a slot came free in the same pass, and `close` drops all
                queue.remove(turn)
            raise

    def give_back(self) -> None:
        self._in_use -= 1
        self._hand_out()
        if self._in_use < self._held:
            self._something_changed.set()

    async def close(self) -> None:
        self._keeper.cancel()
        self._held = self._in_use = 0
        self._waiting.clear()
        self._behind.clear()
        with tolerate_outage("slots.end"):
            await self._ask()

    def _hand_out(self) -> None:
        while self._count_waiting and self._in_use < self._held:
            turn = (self._waiting or self._behind).popleft()
            if not turn.done():
                self._in_use += 1
                turn.set_result(None)

    @property
    def _count_waiting(self) -> int:
        return len(self._waiting) + len(self._behind)

    async def _keep(self) -> None:
        while True:
            pause = _AFTER_TROUBLE_SECONDS
            # Calls wait for this task: no error may end it.
            with tolerate_errors("slots"):
                await self._ask()
                pause = ASK_EVERY_SECONDS if self._count_waiting else RENEW_EVERY_SECONDS
            if time.monotonic() - self._asked_at > LEASE_SECONDS:
                # Our slots have expired and may be others' by now: none is used before they are renewed.
                self._held = 0
            await self._rest(pause)

    async def _rest(self, seconds: float) -> None:
        if seconds != RENEW_EVERY_SECONDS:
            await asyncio.sleep(seconds)
            return
        is_idle = self._held == self._in_use == self._count_waiting == 0
        self._something_changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if is_idle else seconds):
                await self._something_changed.wait()
        if not self._count_waiting:
            # A slot is free: keep it briefly for the next turn of the same debate, then release it.
            await asyncio.sleep(ASK_EVERY_SECONDS)

    async def _ask(self) -> None:
        wanted = self._in_use + self._count_waiting
        # Give up unneeded slots before they are stored as free.
        self._held = min(self._held, wanted)
        held = max(self._held, self._in_use)
        asked_at = time.monotonic()
        loop = asyncio.get_running_loop()
        self._held = await loop.run_in_executor(self._executor, self._share, self._name, held, wanted)
        self._asked_at = asked_at
        self._hand_out()
