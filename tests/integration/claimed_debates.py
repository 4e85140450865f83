"""Debates as a worker meets them: claimed under a lease, one turn at a time."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

from harness import Place, numbers, wait_until
from structlog.testing import capture_logs

from app.core.access import OPERATOR
from app.core.brief import Thought
from app.core.debate import Debate
from app.core.formats import Format
from app.core.retry import PlayerError
from app.store import leases
from app.store.claims import Room
from app.store.commit import Outcome, Result
from app.usecases import advance
from app.usecases.advance import Claim, Step
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from worker.lease import Lease
from worker.players.base import Player
from worker.players.registry import player_for
from worker.runner import Runner

WORKER = "worker"
LEASE_SECONDS = 3_600.0
"""No lease lapses by itself in a test: nobody renews it."""
ONLY_WANTED = Room({}, 0)
"""Nothing is taken along."""
_LOCKED_PAUSE_SECONDS = 0.005
_LOCKED_SECONDS = 60.0


def a_debate(services: Services, **changes: Any) -> Debate:
    new = NewDebate("Cars", "general_debate", "Ban cars", f"request-{next(numbers)}", format=Format.ROUNDS)
    return create_debate(services, OPERATOR, replace(new, **changes)).debate


def ensure_lease(services: Services, worker_id: str = WORKER) -> None:
    if not leases.renew(services.engine, worker_id, LEASE_SECONDS):
        leases.begin(services.engine, worker_id, LEASE_SECONDS)


def lapse_lease(place: Place, worker_id: str = WORKER) -> None:
    place.sql(
        "UPDATE worker_leases SET expires_at = clock_timestamp() - interval '1 second' WHERE worker_id = %s", worker_id
    )


def try_claim(services: Services, debate_id: UUID, worker_id: str = WORKER) -> Claim | None:
    """Of this debate alone; None if there is nothing to claim."""
    ensure_lease(services, worker_id)
    found = advance.claim(services, worker_id, [debate_id], ONLY_WANTED, 1)
    return found[0] if found else None


def claimed(services: Services, debate: Debate, worker_id: str = WORKER) -> Claim:
    claim = try_claim(services, debate.id, worker_id)
    assert claim is not None
    return claim


def turn(claim: Claim, thought: Thought, go_on: bool = True) -> Step:
    return advance.turn_step(claim, thought, lambda _: go_on)


def store(services: Services, claim: Claim, step_for: Callable[[Claim], Step]) -> tuple[Step, Outcome]:
    """Commits as a worker does: again while the row is locked, and with another decision once the deadline has passed.
    Every other outcome is the caller's."""
    step, until = step_for(claim), time.monotonic() + _LOCKED_SECONDS
    while True:
        [outcome] = advance.commit(services, [step])
        if outcome.result is Result.DEADLINE_DIFFERS:
            step = step_for(step.claim.past_deadline(not step.claim.debate.past_deadline))
        elif outcome.result is Result.ROW_LOCKED:
            assert time.monotonic() < until, "the row stayed locked"
            time.sleep(_LOCKED_PAUSE_SECONDS)
        else:
            return step, outcome


def take_turn(services: Services, claim: Claim, thought: Thought, go_on: bool = True) -> Claim | None:
    """The next claim; None if the turn was not stored, or if there is none."""
    return advance.next_claim(*store(services, claim, lambda claim: turn(claim, thought, go_on)))


def commit_turn(services: Services, claim: Claim, thought: Thought, go_on: bool = True) -> Result:
    """The same, for who wants to know what became of it."""
    return store(services, claim, lambda claim: turn(claim, thought, go_on))[1].result


def release(services: Services, claim: Claim) -> Result:
    return store(services, claim, advance.release_step)[1].result


def fail(services: Services, claim: Claim, message: str = "no answer", *, jitter: float = 0.0, **about: Any) -> Result:
    """`about` is what a PlayerError says besides."""
    problem = PlayerError(message, **about)
    return store(services, claim, lambda claim: advance.failure_step(claim, problem, jitter))[1].result


def end_backoff(place: Place, debate: Debate) -> None:
    """The next attempt is due now."""
    place.sql("UPDATE debates SET next_attempt_at = now(), due_at = now() WHERE id = %s", debate.id)


@asynccontextmanager
async def running(
    services: Services, worker_id: str = WORKER, players: Callable[[str], Player] = player_for
) -> AsyncIterator[Runner]:
    """A worker's runner, on this event loop."""
    # Logs are captured because structlog's default for a terminal takes seconds to print a traceback with all its
    # values, on the event loop: the lease would lapse meanwhile.
    with capture_logs(), ThreadPoolExecutor(4, "statements") as executor:
        lease = Lease(services, worker_id, lambda: runner.end_all_claims())
        runner = Runner(services, lease, executor, players)
        lease.start()
        runner.start()
        try:
            yield runner
        finally:
            await runner.shut_down(10)
            await lease.end()


async def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """`wait_until` beside the event loop."""
    await asyncio.to_thread(wait_until, condition, seconds, what)


def is_closed(place: Place, debate: Debate) -> bool:
    [(status,)] = place.sql("SELECT status FROM debates WHERE id = %s", debate.id)
    return status in ("completed", "stopped", "failed")
