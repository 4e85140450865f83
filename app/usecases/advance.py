"""The life of one turn, as workers live it: claim, think, commit, tell.

`claim` and `commit` are one short transaction each. The thinking between them happens in the worker, with no
transaction and no connection held. Whatever else changes the debate meanwhile takes the claim away, and `commit` then
drops the turn.
"""

from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

import structlog

from app import failpoints, metrics
from app.core.brief import Brief, Thought
from app.core.debate import ACTIVE_STATUSES, Debate, Status, Turn, Usage
from app.core.errors import ActionNotAllowed, ContentTooLarge, DebateNotFound, InvalidInput
from app.core.limits import close, limit_reached
from app.core.machine import Move, decide
from app.core.retry import GiveUp, after_failure
from app.ids import new_claim_token, new_turn_id
from app.store import debates, turns
from app.store.commit import NewTurn
from app.store.debates import SETTLED, Claimed, Later
from app.store.engine import ConnectionLost, statements
from app.usecases.claiming import RECENT_TURNS, Taken, Untaken
from app.usecases.events import state_changed
from app.usecases.locking import lock_existing, lock_with_tail
from app.usecases.services import Services
from app.usecases.stored import tell_stored
from app.usecases.submit import turns_of
from app.usecases.texts import checked_text
from app.usecases.transactions import repeated_on_conflict, transaction

log = structlog.get_logger(__name__)

LARGEST_THOUGHT_BYTES = 1_000_000
"""A player's text may be longer than what clients may send, but not without end."""


@dataclass(frozen=True, slots=True)
class HeldTurn:
    """The right to take the turn under the cursor, and what is needed to take it."""

    brief: Brief
    token: UUID
    worker_id: str
    turn_id: UUID = field(default_factory=new_turn_id)
    """Of the turn that will come of it, so that the log knows it by its id from the start."""

    @property
    def debate(self) -> Debate:
        return self.brief.debate


@repeated_on_conflict
def claim(services: Services, debate_id: UUID, worker_id: str) -> HeldTurn | None:
    """The next turn of this debate, or None when there is nothing for us to do."""
    schedule = Claimed(new_claim_token(), worker_id, services.settings.claim_seconds)
    taken = services.claimer.claim(debate_id, schedule)
    if taken is Untaken.LOOK:
        taken = _claim_after_a_look(services, debate_id, schedule)
    if taken is Untaken.NOTHING_TO_DO:
        return None
    if taken.waited_seconds is not None:
        metrics.queue_delay_seconds.observe(max(0.0, taken.waited_seconds))
    return HeldTurn(Brief(taken.debate, taken.motion, _without_motion(taken.recent)), schedule.token, worker_id)


def _claim_after_a_look(
    services: Services, debate_id: UUID, schedule: Claimed
) -> Taken | Literal[Untaken.NOTHING_TO_DO]:
    """For the few where there is more to do than to take the claim, or that somebody else had locked."""
    with transaction(services, "claim") as connection:
        try:
            locked, recent = lock_with_tail(connection, debate_id, RECENT_TURNS)
        except DebateNotFound:
            return Untaken.NOTHING_TO_DO
        debate = locked.debate
        if debate.status not in ACTIVE_STATUSES:
            return Untaken.NOTHING_TO_DO
        reason = limit_reached(debate.cursor, debate.limits, debate.usage, debate.past_deadline)
        if reason:
            closed = debates.save(connection, debate, close(debate, reason))
        elif not debate.awaits_worker:
            # Nothing for a worker: somebody outside has the floor. Say so, or the sweeper would ask again and again.
            if locked.is_due:
                debates.reschedule(connection, debate, debate)
            return Untaken.NOTHING_TO_DO
        elif locked.claim_is_live or locked.backing_off:
            return Untaken.NOTHING_TO_DO
        else:
            running = debate.evolve(status=Status.RUNNING)
            debates.reschedule(connection, debate, running, schedule)
            # A short debate's last turns reach back to its motion.
            motion = recent[0] if recent[0].seq == 1 else turns.motion(connection, debate_id)
    if reason:
        services.teller.publish(state_changed(closed))
        return Untaken.NOTHING_TO_DO
    return Taken(running, motion, recent, locked.waited_seconds)


def _without_motion(recent: tuple[Turn, ...]) -> tuple[Turn, ...]:
    return recent[1:] if recent[0].seq == 1 else recent


@dataclass(frozen=True, slots=True)
class _Step:
    """What a thought makes of the debate: before it is stored, and after."""

    debate: Debate
    turns: tuple[Turn, ...]
    following: Claimed | None
    """The claim of the next turn, where the task goes on with it."""


class UnusableThought(Exception):
    """A player gave back something that can never be stored; the message says what is wrong with it."""


def commit(services: Services, held: HeldTurn, thought: Thought, go_on: bool) -> HeldTurn | None:
    """Stores the turn and moves the cursor. With `go_on`, takes the next claim in the same transaction."""
    try:
        checked_text("content", thought.content, LARGEST_THOUGHT_BYTES)
        if thought.verdict:
            checked_text("verdict.reasoning", thought.verdict.reasoning, LARGEST_THOUGHT_BYTES)
        step = _store(services, held, thought, go_on)
    except (InvalidInput, ContentTooLarge, ActionNotAllowed) as problem:
        raise UnusableThought(problem.message) from problem
    except turns.TurnExists:
        # Stored already, so the cursor stands behind its turns. Looking at the debate anew repairs it and goes on.
        log.warning("turn.exists", debate_id=str(held.debate.id), round=held.debate.cursor.round)
        release(services, held)
        return None
    if step is None:
        _lost(held)
        return None
    tell_stored(services, step.debate, step.turns)
    if step.following:
        recent = (*held.brief.recent, *step.turns)[-RECENT_TURNS:]
        return HeldTurn(Brief(step.debate, held.brief.motion, recent), step.following.token, held.worker_id)
    if step.debate.awaits_worker:
        services.teller.enqueue(step.debate.id)
    return None


def _lost(held: HeldTurn) -> None:
    """Somebody stopped, held, ruled on or deleted the debate meanwhile, or the claim lapsed."""
    metrics.claims_lost.inc()
    log.info("turn.dropped", debate_id=str(held.debate.id), round=held.debate.cursor.round, seat=held.brief.seat)


@repeated_on_conflict
def _store(services: Services, held: HeldTurn, thought: Thought, go_on: bool) -> _Step | None:
    """None when the claim is lost: somebody did something else with the debate meanwhile."""
    step = _plan(services, held, thought, go_on, held.debate.past_deadline)
    if len(step.turns) == 1:
        failpoints.reach("turn.before_commit", ConnectionLost)
        stored = services.committer.store_turn(NewTurn(held.token, step.turns[0], step.debate, step.following))
        failpoints.reach("turn.after_commit", ConnectionLost)
        if stored is not None:
            return _Step(stored[0], (stored[1],), step.following)
    # Two turns at once, or something was not as we knew it: look first.
    with transaction(services, "turn") as connection:
        check = debates.lock_claim(connection, held.debate.id)
        if check is None or check.token != held.token:
            return None
        step = _plan(services, held, thought, go_on, check.past_deadline)
        written = turns.insert_turns(connection, step.turns)
        after = debates.save(connection, held.debate, step.debate, step.following or SETTLED)
    return _Step(after, tuple(written), step.following)


def _plan(services: Services, held: HeldTurn, thought: Thought, go_on: bool, past_deadline: bool) -> _Step:
    move = Move(
        held.brief.seat,
        thought.type,
        thought.content,
        by_worker=True,
        close=thought.close,
        verdict=thought.verdict,
        usage=thought.usage,
    )
    before = held.debate.evolve(past_deadline=True) if past_deadline else held.debate
    decision = decide(before, move)
    answers = held.brief.recent[-1] if held.brief.recent else held.brief.motion
    following = None
    if go_on and decision.debate.awaits_worker:
        following = Claimed(new_claim_token(), held.worker_id, services.settings.claim_seconds)
    return _Step(decision.debate, tuple(turns_of(before, decision.turns, answers, first_id=held.turn_id)), following)


@repeated_on_conflict
def record_failure(
    services: Services,
    held: HeldTurn,
    message: str,
    *,
    permanent: bool,
    retry_after_seconds: float | None,
    jitter: float,
    patient: bool = False,
    kind: str = "player",
    detail: str | None = None,
    usage: Usage | None = None,
) -> None:
    """The player could not take its turn: later again, or the debate has failed.

    `usage` is what the attempt has cost all the same: it counts, and may use up a limit. `detail` is what somebody
    outside said about it: kept with the debate, not written to the log.
    """
    with services.engine.begin() as connection:
        check = debates.lock_claim(connection, held.debate.id)
        if check is None or check.token != held.token:
            _lost(held)
            return
        attempts = held.debate.attempts + 1
        failed = held.debate.evolve(
            attempts=attempts,
            last_error=f"{message} {detail}" if detail else message,
            usage=held.debate.usage.plus(usage) if usage else held.debate.usage,
        )
        decision = after_failure(attempts, permanent, jitter, patient)
        reached = limit_reached(failed.cursor, failed.limits, failed.usage, check.past_deadline)
        delay = None
        if reached:
            after = debates.save(connection, held.debate, close(failed, reached))
        elif isinstance(decision, GiveUp):
            after = debates.save(connection, held.debate, failed.evolve(status=Status.FAILED))
        else:
            delay = max(decision.delay_seconds, retry_after_seconds or 0)
            after = debates.save(connection, held.debate, failed, Later(delay))
    provider = metrics.provider_label(held.brief.setup.player)
    metrics.turn_failures.labels(provider, kind).inc()
    if after.status is Status.FAILED:
        metrics.debates_failed.labels(provider).inc()
    log.warning(
        "turn.failed",
        debate_id=str(after.id),
        round=held.debate.cursor.round,
        seat=held.brief.seat,
        kind=kind,
        attempts=attempts,
        status=after.status,
        wait_seconds=None if delay is None else round(delay, 1),
        error=message,
    )
    services.teller.publish(state_changed(after))


@repeated_on_conflict
def postpone(
    services: Services, held: HeldTurn, message: str, delay_seconds: float, usage: Usage | None = None
) -> None:
    """The turn has to wait for something that is nobody's failure: no attempt is counted, but what it has cost is."""
    with services.engine.begin() as connection:
        check = debates.lock_claim(connection, held.debate.id)
        if check is None or check.token != held.token:
            _lost(held)
            return
        used = held.debate.usage.plus(usage) if usage else held.debate.usage
        waiting = held.debate.evolve(last_error=message, usage=used)
        after = debates.save(connection, held.debate, waiting, Later(delay_seconds))
    log.info("turn.postponed", debate_id=str(after.id), wait_seconds=round(delay_seconds, 1), reason=message)
    services.teller.publish(state_changed(after))


@repeated_on_conflict
def release(services: Services, held: HeldTurn) -> None:
    """Hands the turn back untaken, for another worker to take at once."""
    with services.engine.begin() as connection:
        check = debates.lock_claim(connection, held.debate.id)
        if check is None or check.token != held.token:
            _lost(held)
            return
        debate = lock_existing(connection, held.debate.id).debate
        debates.reschedule(connection, debate, debate)
    services.teller.enqueue(held.debate.id)


def claims_that_hold(services: Services, held: list[tuple[UUID, UUID]]) -> set[UUID]:
    """Of claims (debate id, token), the tokens that are still ours; a look that writes nothing."""
    with statements(services.engine) as connection:
        return debates.claims_that_hold(connection, held)


@repeated_on_conflict
def renew_claims(services: Services, held: list[tuple[UUID, UUID]]) -> set[UUID]:
    """Keeps claims (debate id, token) alive; returns the tokens that are still ours."""
    with services.engine.begin() as connection:
        return debates.renew_claims(connection, held, services.settings.claim_seconds)
