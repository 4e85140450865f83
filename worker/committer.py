"""Stores the result of a turn in flight: retries until it is stored, or its claim is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import cached_property, partial
from uuid import UUID

import structlog

from app.core.changes import ClaimToken, Outcome, Result
from app.core.debate import ACTIVE_STATUSES, ENDED_STATUSES, Usage
from app.core.players import SCRIPTED
from app.observe import metrics
from app.usecases import advance
from app.usecases.advance import Claim, Step
from app.usecases.model_calls import charge
from app.usecases.outages import Backoff, is_outage, until_stored
from app.usecases.services import Services
from worker.batcher import Batcher
from worker.in_flight import InFlight

log = structlog.get_logger(__name__)

MOST_COMMITTED_AT_ONCE = 64
"""In one statement. Debates that are stored together generate, and come to be stored, together again: so not all."""
COMMITS_IN_FLIGHT = 1
"""While it runs the next one is built. A second would only take the interpreter's lock."""
UNAVAILABLE_PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0)
REFUSED_PAUSES_SECONDS = (0.005, 0.02, 0.1, 0.5, 1.0, 2.0, 4.0)
"""Between retries while another transaction locks the row, or the decision has to be made again."""


class LazyStep:
    """A step that is built once, when its batch leaves: a failed try may have stored it."""

    def __init__(self, step_for: Callable[[Claim], Step], claim: Claim) -> None:
        self._step_for = step_for
        self._claim = claim

    @cached_property
    def step(self) -> Step:
        return self._step_for(self._claim)

    def with_other_deadline(self) -> "LazyStep":
        """The step for the debate as its row is: its deadline has passed, or no longer has, since it was paused."""
        return LazyStep(self._step_for, self._claim.past_deadline(not self._claim.debate.past_deadline))


class Committer:
    def __init__(
        self,
        services: Services,
        lease_changed: Callable[[], Awaitable[None]],
        executor: Executor,
        on_ended: Callable[[UUID], None],
    ) -> None:
        self._services = services
        self._lease_changed = lease_changed
        self._executor = executor
        self._on_ended = on_ended
        self._commit: Batcher[Step, Outcome] = Batcher(
            lambda steps: advance.commit(services, steps),
            executor,
            parallel=COMMITS_IN_FLIGHT,
            largest=MOST_COMMITTED_AT_ONCE,
            fails_all=is_outage,
        )
        self.asked_for: dict[UUID, InFlight[Claim]] = {}

    async def store(
        self, in_flight: InFlight[Claim], step_for: Callable[[Claim], Step], used: Usage | None = None
    ) -> tuple[Step, Outcome] | None:
        """Commits a step and acts on its outcome; None when the claim is lost. Raises GaveUp when that takes too long.

        The same step is committed again after an outage: the outcome says whether a failed try had stored it.
        """
        lazy = LazyStep(step_for, in_flight.claim)
        while_unavailable, while_refused = Backoff(UNAVAILABLE_PAUSES_SECONDS), Backoff(REFUSED_PAUSES_SECONDS)
        while True:
            commit = partial(self._commit_once, in_flight, lazy)
            outcome = await until_stored(commit, while_unavailable, "turn.commit")
            match outcome.result:
                case Result.STORED | Result.ALREADY_STORED:
                    if outcome.debate.experiment_id and outcome.debate.status in ENDED_STATUSES:
                        self._on_ended(outcome.debate.experiment_id)
                    return lazy.step, outcome
                case Result.CLAIM_LOST:
                    await self._lost(in_flight.claim, outcome, used)
                    return None
                case Result.LEASE_LAPSED:
                    await self._lease_changed()
                case Result.DEADLINE_DIFFERS:
                    lazy = lazy.with_other_deadline()
                case Result.ROW_LOCKED:
                    pass
            await while_refused.pause()

    async def _commit_once(self, in_flight: InFlight[Claim], lazy: LazyStep) -> Outcome:
        asked_for: list[UUID] = []

        def build() -> Step:
            schedule = lazy.step.change.schedule
            if isinstance(schedule, ClaimToken):
                asked_for.append(schedule.token)
                self.asked_for[schedule.token] = in_flight
            return lazy.step

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
            await self._charge(claim.debate.id, used or Usage(), claim.token)
        elif used and outcome.status is not None:
            await self._charge(claim.debate.id, used)

    async def _charge(self, debate_id: UUID, used: Usage, calls_of: UUID | None = None) -> None:
        """Without recorded calls, a connection lost after the commit charges twice: safer for the limits than not at
        all."""
        loop = asyncio.get_running_loop()
        charging = partial(loop.run_in_executor, self._executor, charge, self._services, debate_id, used, calls_of)
        await until_stored(charging, Backoff(UNAVAILABLE_PAUSES_SECONDS), "turn.charge")
