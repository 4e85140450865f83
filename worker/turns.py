"""Turns: the player in the seat under a debate's cursor generates one, and a commit stores it with the next claim."""

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from functools import cache, partial
from uuid import UUID

import structlog
from structlog.contextvars import bind_contextvars

from app.core.brief import Thought
from app.core.claims import Room, share_of_turn
from app.core.debate import Debate, Usage
from app.core.players import SCRIPTED
from app.core.retry import NotNow, PlayerError
from app.observe import failpoints, metrics, tracing
from app.usecases import advance
from app.usecases.advance import Claim, Step
from app.usecases.claims import WorkKind
from app.usecases.services import Services
from worker.claim_loop import Kind, jitter
from worker.committer import Committer
from worker.in_flight import Ending, InFlight
from worker.lease import Lease
from worker.players.base import Player, with_latency

log = structlog.get_logger(__name__)
# Looked up once: there are few providers, and the library's own lookup costs as much as the counting.
_turn_attempts = cache(metrics.turn_attempts.labels)


class Turns(Kind[Claim, Thought]):
    work = WorkKind.TURN
    poll_seconds = 0.5
    pause_seconds = 0.01
    """Hints that come one by one share a statement; a worker that was idle for longer claims immediately."""
    at_once = 64
    """Not all that there is room for: other workers may be idle."""

    def __init__(
        self,
        services: Services,
        lease: Lease,
        executor: Executor,
        player_for: Callable[[str], Player],
        on_ended: Callable[[UUID], None] = lambda _: None,
    ) -> None:
        """`on_ended` is called with the experiment of a debate that ended here."""
        super().__init__(services, executor)
        self.of_a_share = services.settings.worker_concurrency
        self._player_for = player_for
        self._committer = Committer(services, lease.changed, executor, on_ended)
        self.asked_for = self._committer.asked_for

    def claim(self, services: Services, worker_id: str, room: Room) -> Sequence[Claim]:
        return advance.claim(services, worker_id, room.hints, room, room.most)

    def share(self, claim: Claim) -> str:
        return share_of_turn(claim.debate)

    def at_most(self, room: Room) -> int:
        return room.most

    async def crowded(self, room: Room) -> Collection[str]:
        return await self.in_thread(advance.shares_with_waiting, self.services, room.full) if room.full else ()

    def about(self, claim: Claim) -> dict[str, str | int]:
        return {
            "turn_id": str(claim.turn_id),
            "round": claim.debate.cursor.round,
            "seat": claim.brief.seat.role,
            "player": claim.brief.setup.player,
        }

    def span(self, claim: Claim) -> AbstractContextManager[None]:
        bind_contextvars(debate_id=str(claim.debate.id))
        return tracing.span("advance_debate", {"id": str(claim.debate.id)}, claim.debate.id)

    async def generate(self, claim: Claim) -> Thought:
        began = time.monotonic()
        brief = claim.brief
        player = brief.setup.player
        _turn_attempts(metrics.provider_label(player)).inc()
        failpoints.reach("think.before")
        if player == SCRIPTED and brief.weighs_every_round:
            # (A model's prompt is made from all turns when its slot is free.)
            brief = await self.in_thread(advance.with_all_turns, self.services, brief)
        thought = await self._player_for(player).think(brief)
        failpoints.reach("think.after")
        return with_latency(thought, began)

    def usage_of(self, generated: Thought) -> Usage | None:
        return generated.usage

    async def store(self, in_flight: InFlight[Claim], generated: Thought) -> Claim | None:
        def goes_on(after: Debate) -> bool:
            return in_flight.may_go_on(share_of_turn(after))

        step_for = partial(advance.turn_step, thought=generated, may_go_on=goes_on)
        with tracing.span("commit"):
            stored = await self._committer.store(in_flight, step_for, generated.usage)
        return advance.next_claim(*stored) if stored else None

    async def postpone(self, in_flight: InFlight[Claim], reason: NotNow) -> None:
        def step(claim: Claim) -> Step:
            return advance.postponement_step(claim, reason.message, reason.delay_seconds, reason.usage)

        await self._committer.store(in_flight, step, reason.usage)

    async def fail(self, in_flight: InFlight[Claim], problem: PlayerError) -> None:
        step = partial(advance.failure_step, problem=problem, jitter=jitter())
        await self._committer.store(in_flight, step, problem.usage)

    async def canceled(self, in_flight: InFlight[Claim]) -> None:
        log.info("turn.cancelled", reason=in_flight.ending.value if in_flight.ending else "unknown")
        if in_flight.ending is Ending.LEASE_LOST:
            metrics.claims_lost.inc()
        if in_flight.ending is Ending.SHUTDOWN:
            await self._committer.store(in_flight, advance.release_step)
