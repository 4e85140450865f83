"""Debates as a worker meets them: claimed under a lease, one turn at a time."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
from harness import Place, numbers, wait_until
from psycopg.abc import Buffer
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzLoader
from situations import debates
from situations.leases import expire

from app.core.access import OPERATOR
from app.core.brief import Brief, Thought
from app.core.changes import Outcome, Result
from app.core.claims import Room, share_of_turn
from app.core.debate import Debate, Turn, TurnType, Usage
from app.core.machine import implied_cursor
from app.core.players import SeatSetup
from app.core.retry import PlayerError
from app.core.schedules import ROUNDS
from app.core.seats import Seat
from app.core.verdicts import Verdict
from app.store import leases
from app.usecases import advance, control, read
from app.usecases.advance import Claim, Step
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from app.usecases.submit import Submission, submit
from worker.committer import Committer
from worker.in_flight import InFlight

WORKER = "worker"
LEASE_SECONDS = 3_600.0
"""No lease lapses by itself in a test: nobody renews it."""
CLAIM = Thought(TurnType.CLAIM, "words", usage=Usage(30, 12, 0.25, 1400))
VERDICT = Verdict("opponent", {"proposer": 4.5, "opponent": 8}, 'Said "100 % sure" {twice}, naïve 🚗')
RULING = Thought(TurnType.RULING, "The opponent.", VERDICT, usage=Usage(5, 5))
SCRIPTED = {seat: SeatSetup("scripted") for seat in Seat}
INTERVENTION = Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, "Wait.")
ONLY_WANTED = Room({}, 0)
"""Nothing is taken along."""


ENDINGS: dict[str, Callable[[Services, UUID], Any]] = {
    "stop": lambda services, debate_id: control.stop_debate(services, OPERATOR, debate_id, None),
    "pause": lambda services, debate_id: control.pause_debate(services, OPERATOR, debate_id, now=True),
    "delete": lambda services, debate_id: control.delete_debate(services, OPERATOR, debate_id),
    "intervention": lambda services, debate_id: submit(services, OPERATOR, debate_id, INTERVENTION).debate,
}
"""What a person does that ends a worker's claim."""


def a_debate(services: Services, **changes: Any) -> Debate:
    new = NewDebate("Cars", "general_debate", "Ban cars", f"request-{next(numbers)}", schedule=ROUNDS)
    return create_debate(services, OPERATOR, replace(new, **changes)).debate


def ensure_lease(services: Services, worker_id: str = WORKER) -> None:
    if not leases.renew(services.engine, worker_id, LEASE_SECONDS):
        leases.begin(services.engine, worker_id, LEASE_SECONDS)


def lapse_lease(place: Place, worker_id: str = WORKER) -> None:
    expire(place, worker_id)


def try_claim(services: Services, debate_id: UUID, worker_id: str = WORKER) -> Claim | None:
    """Of this debate alone; None if there is nothing to claim."""
    ensure_lease(services, worker_id)
    found = advance.claim(services, worker_id, [debate_id], ONLY_WANTED, 1)
    return found[0] if found else None


def claimed(services: Services, debate: Debate, worker_id: str = WORKER) -> Claim:
    claim = try_claim(services, debate.id, worker_id)
    assert claim is not None
    return claim


def spoken(brief: Brief) -> Thought:
    return RULING if brief.seat is Seat.ARBITRATOR else CLAIM


def turn(claim: Claim, thought: Thought, go_on: bool = True) -> Step:
    return advance.turn_step(claim, thought, lambda _: go_on)


class LeaseExpired(Exception):
    """A commit was refused for its lease, which nobody renews in these tests."""


Stored = tuple[Step, Outcome]
StepFor = Callable[[Claim], Step]


def store_together(
    services: Services, claims: Sequence[Claim], step_for: StepFor, used: Usage | None = None
) -> list[Stored | BaseException | None]:
    """Commits a step of each claim through one `Committer`, as a worker does; None for a claim that is lost."""

    async def expired() -> None:
        raise LeaseExpired

    async def committed() -> list[Stored | BaseException | None]:
        committer = Committer(services, expired, executor, lambda _: None)
        in_flight = [InFlight(claim, share_of_turn(claim.debate), lambda *_: True) for claim in claims]
        return await asyncio.gather(
            *(committer.store(one, step_for, used) for one in in_flight), return_exceptions=True
        )

    with ThreadPoolExecutor(1) as executor:
        return asyncio.run(committed())


def store(services: Services, claim: Claim, step_for: StepFor, used: Usage | None = None) -> Stored | None:
    [stored] = store_together(services, [claim], step_for, used)
    if isinstance(stored, BaseException):
        raise stored
    return stored


def result_of(services: Services, claim: Claim, step_for: Callable[[Claim], Step], used: Usage | None = None) -> Result:
    """The result of the last try."""
    try:
        stored = store(services, claim, step_for, used)
    except LeaseExpired:
        return Result.LEASE_LAPSED
    return stored[1].result if stored else Result.CLAIM_LOST


def take_turn(services: Services, claim: Claim, thought: Thought, go_on: bool = True) -> Claim | None:
    """The next claim; None if the turn was not stored, or if there is none."""
    stored = store(services, claim, lambda claim: turn(claim, thought, go_on), thought.usage)
    return advance.next_claim(*stored) if stored else None


def commit_turn(services: Services, claim: Claim, thought: Thought, go_on: bool = True) -> Result:
    """The same, for a test that asserts the result."""
    return result_of(services, claim, lambda claim: turn(claim, thought, go_on), thought.usage)


def release(services: Services, claim: Claim) -> Result:
    return result_of(services, claim, advance.release_step)


def fail(services: Services, claim: Claim, message: str = "no answer", *, jitter: float = 0.0, **about: Any) -> Result:
    """`about` is what a PlayerError says besides."""
    problem = PlayerError(message, **about)
    return result_of(services, claim, lambda claim: advance.failure_step(claim, problem, jitter), problem.usage)


def assert_sound(services: Services, debate: Debate) -> tuple[Debate, list[Turn]]:
    """seq has no hole, no slot is taken twice, and the cursor is what the turns imply."""
    transcript = read.get_transcript(services, debate.id, None)
    after, turns = transcript.debate, [transcript.motion, *transcript.arguments]
    assert [turn.seq for turn in turns] == list(range(1, len(turns) + 1))
    assert after.turn_count == len(turns)
    slots = [(turn.round, turn.seat) for turn in turns if turn.round is not None]
    assert len(slots) == len(set(slots))
    cursor, interrupted = implied_cursor(after.schedule, after.limits.max_rounds, turns)
    assert (after.cursor, after.intervention_open) == (cursor, interrupted is not None and not after.is_closed)
    return after, turns


FOREVER = datetime.max.replace(tzinfo=UTC)
"""`infinity` in `row_of`."""


class _TimeLoader(TimestamptzLoader):
    def load(self, data: Buffer) -> datetime:
        return FOREVER if bytes(data) == b"infinity" else super().load(data)


def row_of(place: Place, debate: Debate) -> dict[str, Any]:
    """All that is stored of the debate, and when it was read."""
    with psycopg.connect(str(place.settings.database_url), row_factory=dict_row) as connection:
        connection.adapters.register_loader("timestamptz", _TimeLoader)
        [row] = connection.execute("SELECT *, clock_timestamp() AS read_at FROM debates WHERE id = %s", [debate.id])
    return row


def end_backoff(place: Place, debate: Debate) -> None:
    """The next attempt is due now."""
    debates.make_due(place, debate.id)


async def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """`wait_until` beside the event loop."""
    await asyncio.to_thread(wait_until, condition, seconds, what)


def is_closed(place: Place, debate: Debate) -> bool:
    [(status,)] = place.sql("SELECT status FROM debates WHERE id = %s", debate.id)
    return status in ("completed", "stopped", "failed")
