"""Judges closed debates without changing them. Any player that can fill the arbitrator's seat can judge, in either
order of the two sides, any number of times."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor

from app.core.brief import Thought
from app.core.retry import PlayerError
from app.store.judgments import JudgmentClaim
from app.usecases import judgments
from app.usecases.services import Services
from worker.claim_loop import ClaimLoop
from worker.lease import Lease
from worker.players.base import Player


class JudgmentWork:
    name = "judgments"
    at_once = 32
    claim = staticmethod(judgments.claim)
    settle = staticmethod(judgments.settle)
    postpone = staticmethod(judgments.postpone)
    record_failure = staticmethod(judgments.record_failure)
    release_unknown = staticmethod(judgments.release_unknown)

    def __init__(self, services: Services, executor: Executor, player_for: Callable[[str], Player]) -> None:
        self.in_hand = services.settings.worker_concurrency
        self._services = services
        self._executor = executor
        self._player_for = player_for

    def share(self, held: JudgmentClaim) -> str:
        return held.share

    async def think(self, held: JudgmentClaim) -> Thought:
        loop = asyncio.get_running_loop()
        brief = await loop.run_in_executor(self._executor, judgments.brief_of, self._services, held)
        if brief is None:
            raise PlayerError("The debate is no longer closed.", permanent=True, kind="debate")
        began = time.monotonic()
        thought = await self._player_for(brief.setup.player).think(brief)
        latency_ms = round((time.monotonic() - began) * 1000)
        return thought.evolve(usage=thought.usage.or_latency(latency_ms))


class Judging(ClaimLoop[JudgmentClaim, Thought]):
    def __init__(
        self, services: Services, lease: Lease, executor: Executor, player_for: Callable[[str], Player]
    ) -> None:
        super().__init__(services, lease, executor, JudgmentWork(services, executor, player_for))
