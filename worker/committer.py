"""Stores what became of a turn in flight: again until it is stored, or its claim is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import cached_property, partial
from uuid import UUID

import structlog

from app.core.debate import ACTIVE_STATUSES, ENDED_STATUSES, Usage
from app.core.players import SCRIPTED
from app.observe import metrics
from app.store.commit import ClaimToken, Outcome, Result
from app.store.engine import DatabaseUnavailable
from app.usecases import advance
from app.usecases.advance import Claim, Step
from app.usecases.model_calls import charge
from app.usecases.services import Services
from worker.batcher import Batcher
from worker.in_flight import InFlight
from worker.patience import Patience, until_stored

log = structlog.get_logger(__name__)

MOST_COMMITTED_AT_ONCE = 64
"""In one statement. A statement has a cost of its own, so not few; and debates that are stored together think, and come
to be stored, together again, so not all."""
COMMITS_IN_FLIGHT = 1
"""While it runs, debates of the one before go on and the next is built. A second would only take the interpreter's lock
from them."""
AWAY_PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0)
"""Between tries while the database is away."""
REFUSED_PAUSES_SECONDS = (0.005, 0.02, 0.1, 0.5, 1.0, 2.0, 4.0)
"""Between tries that the row refuses: another transaction holds it, or it is not as the decision assumed."""


class _Unbuilt:
    """A step that is built when its batch leaves, and once: a try to commit it that failed may have stored it."""

    def __init__(self, step_for: Callable[[Claim], Step], claim: Claim) -> None:
        self._step_for = step_for
        self._claim = claim

    @cached_property
    def step(self) -> Step:
        return self._step_for(self._claim)

    def with_other_deadline(self) -> "_Unbuilt":
        """The step for the debate as its row is: its deadline has passed, or no longer has, since it was paused."""
        return _Unbuilt(self._step_for, self._claim.past_deadline(not self._claim.debate.past_deadline))


class Committer:
    def __init__(
        self,
        services: Services,
        lease_changed: Callable[[], Awaitable[None]],
        executor: Executor,
        on_ended: Callable[[UUID], None],
    ) -> None:
        """`lease_changed` is awaited before the next try of a commit whose lease has expired."""
        self._services = services
        self._lease_changed = lease_changed
        self._executor = executor
        self._on_ended = on_ended
        self._commit: Batcher[Step, Outcome] = Batcher(
            lambda steps: advance.commit(services, steps),
            executor,
            parallel=COMMITS_IN_FLIGHT,
            largest=MOST_COMMITTED_AT_ONCE,
            fails_all=DatabaseUnavailable,
        )
        self.asked_for: dict[UUID, InFlight[Claim]] = {}
        """By the token of the next claim, while a commit asks for it."""

    async def store(
        self, in_flight: InFlight[Claim], step_for: Callable[[Claim], Step], used: Usage | None = None
    ) -> tuple[Step, Outcome] | None:
        """Commits a step and acts on its outcome; None when the claim is lost. Raises GaveUp when trying has taken too
        long.

        What was generated may have cost money: it is kept until the database is back. Whether a try that failed was
        stored after all is found out by the next one, which is why it commits the same step.
        """
        unbuilt = _Unbuilt(step_for, in_flight.claim)
        while_away, while_refused = Patience(AWAY_PAUSES_SECONDS), Patience(REFUSED_PAUSES_SECONDS)
        while True:
            commit = partial(self._commit_once, in_flight, unbuilt)
            outcome = await until_stored(commit, while_away, "turn.commit")
            match outcome.result:
                case Result.STORED | Result.ALREADY_STORED:
                    if outcome.debate.experiment_id and outcome.debate.status in ENDED_STATUSES:
                        self._on_ended(outcome.debate.experiment_id)
                    return unbuilt.step, outcome
                case Result.CLAIM_LOST:
                    await self._lost(in_flight.claim, outcome, used)
                    return None
                case Result.LEASE_LAPSED:
                    await self._lease_changed()
                case Result.DEADLINE_DIFFERS:
                    unbuilt = unbuilt.with_other_deadline()
                case Result.ROW_LOCKED:
                    pass
            await while_refused.pause()

    async def _commit_once(self, in_flight: InFlight[Claim], unbuilt: _Unbuilt) -> Outcome:
        asked_for: list[UUID] = []

        def build() -> Step:
            schedule = unbuilt.step.change.schedule
            if isinstance(schedule, ClaimToken):
                asked_for.append(schedule.token)
                self.asked_for[schedule.token] = in_flight
            return unbuilt.step

        try:
            return await self._commit(build)
        finally:
            for token in asked_for:
                del self.asked_for[token]

    async def _lost(self, claim: Claim, outcome: Outcome, used: Usage | None) -> None:
        if outcome.status is None or outcome.status not in ACTIVE_STATUSES:
            log.info("turn.cancelled", reason=f"the debate is {outcome.status or 'deleted'}")
        else:
            metrics.claims_lost.inc()
            log.warning("turn.dropped", reason="the claim was lost")
        if claim.brief.setup.player != SCRIPTED:
            # Its calls are recorded: what became of them is known now, and each is charged once.
            await self._charge(claim.debate.id, used or Usage(), claim.held.token)
        elif used and outcome.status is not None:
            await self._charge(claim.debate.id, used)

    async def _charge(self, debate_id: UUID, used: Usage, calls_of: UUID | None = None) -> None:
        """Again until the database is back. Without recorded calls a connection lost after the commit charges twice:
        better than not at all, for the debate's limits."""
        loop = asyncio.get_running_loop()
        charging = partial(loop.run_in_executor, self._executor, charge, self._services, debate_id, used, calls_of)
        await until_stored(charging, Patience(AWAY_PAUSES_SECONDS), "turn.charge")
