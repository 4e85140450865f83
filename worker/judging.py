"""Judges closed debates without changing them. Any player that can fill the arbitrator's seat can judge, in either
order of the two sides, any number of times."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from uuid import UUID

from app.core.brief import Thought
from app.store.judgments import JudgmentClaim
from app.usecases import judgments
from app.usecases.services import Services
from worker.claim_loop import ClaimLoop
from worker.lease import Lease
from worker.players.base import NotNow, Player, PlayerError


class Judgments:
    name = "judgments"
    at_once = 32

    def __init__(self, services: Services, executor: Executor, player_for: Callable[[str], Player]) -> None:
        self.in_hand = services.settings.worker_concurrency
        self._services = services
        self._executor = executor
        self._player_for = player_for

    def claim(self, services: Services, worker_id: str, at_most: int, full: Sequence[str]) -> list[JudgmentClaim]:
        return judgments.claim(services, worker_id, at_most, full)

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
        return thought.evolve(usage=replace(thought.usage, latency_ms=latency_ms))

    def settle(self, services: Services, held: JudgmentClaim, opinion: Thought) -> None:
        judgments.settle(services, held, opinion)

    def postpone(self, services: Services, held: JudgmentClaim, reason: NotNow) -> None:
        judgments.postpone(services, held, reason.message, reason.delay_seconds, reason.usage)

    def record_failure(self, services: Services, held: JudgmentClaim, problem: PlayerError, jitter: float) -> None:
        judgments.record_failure(
            services,
            held,
            problem.message,
            kind=problem.kind,
            permanent=problem.permanent,
            retry_after_seconds=problem.retry_after_seconds,
            jitter=jitter,
            usage=problem.usage,
        )

    def release_unknown(self, services: Services, worker_id: str, known: Sequence[UUID]) -> None:
        judgments.release_unknown(services, worker_id, known)


class Judging(ClaimLoop[JudgmentClaim, Thought]):
    def __init__(
        self, services: Services, lease: Lease, executor: Executor, player_for: Callable[[str], Player]
    ) -> None:
        super().__init__(services, lease, executor, Judgments(services, executor, player_for))
