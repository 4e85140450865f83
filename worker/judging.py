"""Judges closed debates without changing them."""

import time
from collections.abc import Callable
from concurrent.futures import Executor

from app.core.brief import Thought
from app.core.debate import Usage
from app.core.judgments import JudgmentClaim
from app.core.retry import PlayerError
from app.usecases import judgments
from app.usecases.claims import WorkKind
from app.usecases.services import Services
from worker.claim_loop import RowKind
from worker.players.base import Player, with_latency


class JudgmentWork(RowKind[JudgmentClaim, Thought]):
    work = WorkKind.JUDGMENT
    at_once = 32
    claim = staticmethod(judgments.claim)
    record = staticmethod(judgments.record)
    record_postponement = staticmethod(judgments.postpone)
    record_failure = staticmethod(judgments.record_failure)

    def __init__(self, services: Services, executor: Executor, player_for: Callable[[str], Player]) -> None:
        super().__init__(services, executor)
        self.of_a_share = services.settings.worker_concurrency
        self._player_for = player_for

    def share(self, claim: JudgmentClaim) -> str:
        return claim.share

    async def generate(self, claim: JudgmentClaim) -> Thought:
        brief = await self.in_thread(judgments.brief_of, self.services, claim)
        if brief is None:
            raise PlayerError("The debate is no longer closed.", permanent=True, kind="debate")
        began = time.monotonic()
        return with_latency(await self._player_for(brief.setup.player).think(brief), began)

    def usage_of(self, generated: Thought) -> Usage | None:
        return generated.usage
