"""The life of one turn: claim, generate, commit, publish.

`claim` and `commit` are short transactions; the worker generates between them with no transaction open. A `Step` is
what a worker makes of a claimed turn, or of a failed attempt: the change of the debate, and what follows its commit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import structlog

from app.core.brief import Brief, Thought
from app.core.changes import Change, ClaimToken, Later, Outcome, PlainSchedule, Result, Schedule
from app.core.claims import Close, Leave, Room, TakeTurn, decide_claim, reconciled
from app.core.debate import Debate, Status, Usage
from app.core.errors import ContentTooLarge, InvalidInput
from app.core.events import EventKind, NewEvent
from app.core.limits import ended_by, limit_reached
from app.core.machine import Move, decide
from app.core.refusals import MoveRefused
from app.core.retry import PlayerError, after_failure, attempts_allowed, stored_delay
from app.core.texts import checked_text, storable_text, storable_usage
from app.observe import failpoints, metrics
from app.store import claims, turns
from app.store.claims import ClaimedDebate, DamagedDebate
from app.store.commit import commit as store_changes
from app.store.engine import ConnectionLost
from app.store.ids import new_claim_token, new_turn_id, time_of
from app.usecases.announce import enqueue_due, publish_stored, state_changed
from app.usecases.outages import postponed_during_outages
from app.usecases.services import Services
from app.usecases.submit import quotes_of, turns_of
from app.usecases.transactions import log_repair, repeated_on_conflict
from app.wire.debates import time_json
from app.words.seats import refusal

log = structlog.get_logger(__name__)

LARGEST_THOUGHT_BYTES = 1_000_000
"""A player's text may be longer than what clients may send, but not without end."""
RECENT_TURNS = 12
"""In the brief of a claim, besides the motion: the cost of a step does not grow with the debate."""


@dataclass(frozen=True, slots=True)
class Claim:
    brief: Brief
    claim_token: ClaimToken
    turn_id: UUID = field(default_factory=new_turn_id)
    """Of the turn that will come of it, so that the log knows it by its id from the start."""
    repair: tuple[Debate, Debate] | None = None
    """The debate as it was stored and with the cursor that its turns imply, where the two differ."""

    @property
    def debate(self) -> Debate:
        return self.brief.debate

    @property
    def id(self) -> UUID:
        return self.debate.id

    @property
    def token(self) -> UUID:
        return self.claim_token.token

    def past_deadline(self, is_past: bool) -> "Claim":
        if is_past == self.debate.past_deadline:
            return self
        return replace(self, brief=replace(self.brief, debate=self.debate.evolve(past_deadline=is_past)))


Announce = Callable[[Services, Sequence[Outcome]], None]


@dataclass(frozen=True, slots=True)
class Step:
    claim: Claim
    change: Change
    announce: Announce


@repeated_on_conflict
def claim(services: Services, worker_id: str, wanted: Sequence[UUID], room: Room, at_most: int) -> list[Claim]:
    tokens = [new_claim_token() for _ in range(at_most)]
    failpoints.reach("claim.before_commit", ConnectionLost)
    found = claims.claim(services.engine, worker_id, wanted, room, tokens, RECENT_TURNS)
    if found:
        failpoints.reach("claim.after_commit", ConnectionLost)
    taken: list[Claim] = []
    others: list[Step] = []
    for one in found:
        if isinstance(one, DamagedDebate):
            _fail_damaged(services, one)
            continue
        metrics.queue_delay_seconds.observe(one.waited_seconds)
        implied = reconciled(one.debate, one.turns)
        decision = decide_claim(implied)
        repair = None if implied is one.debate else (one.debate, implied)
        claimed = _claim_of(services, one, decision.debate, worker_id, repair)
        if isinstance(decision, TakeTurn):
            taken.append(claimed)
        elif isinstance(decision, Close):
            event = _deadline_event(decision, worker_id)
            others.append(Step(claimed, Change(decision.debate, claimed.claim_token, event=event), _publish_state))
        elif isinstance(decision, Leave):
            others.append(
                Step(claimed, Change(decision.debate, claimed.claim_token, is_activity=False), _publish_nothing)
            )
    if others:
        # One that is not stored (its row is locked, say) is found by `app.usecases.claims.release_unknown`.
        commit(services, others)
    return taken


def _fail_damaged(services: Services, damaged: DamagedDebate) -> None:
    words = f"What is stored of this debate cannot be read ({damaged.problem})."
    # It has no turns either if it was deleted between the two statements of the claim.
    if claims.fail_damaged(services.engine, damaged, words):
        log.error("debate.unreadable", debate_id=str(damaged.debate_id), problem=damaged.problem)


def _deadline_event(decision: Close, worker_id: str) -> NewEvent | None:
    if decision.late_seat is None:
        return None
    return NewEvent(EventKind.DEADLINE_PASSED, worker_id, {"role": decision.late_seat.role})


def _claim_of(
    services: Services, found: ClaimedDebate, debate: Debate, worker_id: str, repair: tuple[Debate, Debate] | None
) -> Claim:
    motion, recent = found.turns[0], found.turns[1:]
    document = services.documents.of(services.engine, debate)
    brief = Brief(debate, motion, recent[-RECENT_TURNS:], document=document, claim=found.token)
    return Claim(brief, ClaimToken(found.token, worker_id), repair=repair)


@postponed_during_outages()
def with_all_turns(services: Services, brief: Brief) -> Brief:
    """The brief with the whole transcript, for a model's prompt: the claim reads only the last turns."""
    if brief.is_whole:
        return brief
    with services.engine.statements() as connection:
        found = turns.after(connection, brief.debate.id, brief.motion.seq, brief.debate.turn_count - 1)
    # Nothing is found of a debate that was deleted meanwhile: its turn will not be stored either.
    return replace(brief, turns=found) if found else brief


def commit(services: Services, steps: Sequence[Step]) -> list[Outcome]:
    failpoints.reach("turn.before_commit", ConnectionLost)
    try:
        outcomes = store_changes(services.engine, [step.change for step in steps])
    except turns.TurnExists:
        # The debate's cursor is behind its turns. The next claim of the debate repairs it.
        if len(steps) > 1:
            raise
        log.warning("turn.exists", debate_id=str(steps[0].claim.id))
        return commit(services, [release_step(steps[0].claim, steps[0].change.used)])
    failpoints.reach("turn.after_commit", ConnectionLost)
    stored: dict[Announce, list[Outcome]] = {}
    for step, outcome in zip(steps, outcomes, strict=True):
        if outcome.result in (Result.STORED, Result.ALREADY_STORED):
            stored.setdefault(step.announce, []).append(outcome)
            if step.claim.repair:
                log_repair(*step.claim.repair)
    for announce, of_steps in stored.items():
        announce(services, of_steps)
    return outcomes


def turn_step(claim: Claim, thought: Thought, may_go_on: Callable[[Debate], bool]) -> Step:
    """Stores the turn and moves the cursor; where `may_go_on` allows it, takes the next claim in the same transaction.
    Raises PlayerError for a turn that cannot be stored."""
    before = claim.debate
    usage = storable_usage(thought.usage)
    move = Move(
        claim.brief.seat,
        thought.type,
        thought.content,
        by_worker=True,
        close=thought.close,
        verdict=thought.verdict,
        usage=usage,
    )
    try:
        checked_text("content", thought.content, LARGEST_THOUGHT_BYTES)
        if thought.verdict:
            checked_text("verdict.reasoning", thought.verdict.reasoning, LARGEST_THOUGHT_BYTES)
        decision = decide(before, move)
    except (MoveRefused, InvalidInput, ContentTooLarge) as problem:
        reason = refusal(problem).message if isinstance(problem, MoveRefused) else problem.message
        words = f"The player's turn cannot be stored: {reason}"
        raise PlayerError(words, kind="answer", usage=thought.usage) from problem
    answers = claim.brief.turns[-1] if claim.brief.turns else claim.brief.motion
    quotes = quotes_of(claim.debate, move, claim.brief.document)
    made = tuple(turns_of(before, decision.turns, answers, first_id=claim.turn_id, quotes=quotes))
    if thought.prompts_hash is not None:
        made = (made[0].evolve(prompts_hash=thought.prompts_hash), *made[1:])
    schedule: Schedule = PlainSchedule.SETTLED
    if decision.debate.awaits_worker and may_go_on(decision.debate):
        schedule = ClaimToken(new_claim_token(), claim.claim_token.worker_id)
    change = Change(decision.debate, claim.claim_token, made, thought.exchanges, usage, schedule)
    return Step(claim, change, _publish_turns)


def next_claim(step: Step, outcome: Outcome) -> Claim | None:
    following = step.change.schedule
    if not outcome.has_next_claim or not isinstance(following, ClaimToken):
        return None
    brief = step.claim.brief
    last = (*brief.turns, *outcome.turns)[-RECENT_TURNS:]
    next_brief = Brief(outcome.debate, brief.motion, last, document=brief.document, claim=following.token)
    return Claim(next_brief, following)


def failure_step(claim: Claim, problem: PlayerError, jitter: float) -> Step:
    """The player failed: the turn is retried, or the debate has failed. The cost counts, and may reach a limit."""
    message, detail = storable_text(problem.message), problem.detail
    used = storable_usage(problem.usage or Usage())
    attempts = claim.debate.attempts + 1
    failed = claim.debate.evolve(
        attempts=attempts,
        last_error=f"{message} {storable_text(detail)}" if detail else message,
        usage=claim.debate.usage.plus(used),
    )
    retry_seconds = after_failure(attempts, problem.permanent, jitter, problem.patient)
    reached = limit_reached(failed)
    delay: float | None = None
    schedule: Schedule = PlainSchedule.SETTLED
    after = failed
    if reached:
        after = ended_by(failed, reached)
    elif retry_seconds is None:
        after = failed.evolve(status=Status.FAILED)
    else:
        delay = stored_delay(max(retry_seconds, problem.retry_after_seconds or 0))
        schedule = Later(delay)
    about = {
        "attempt": attempts,
        "attempts_allowed": attempts_allowed(problem.patient),
        "kind": problem.kind,
        "error": failed.last_error,
        "wait_seconds": delay,
    }
    event = _event(claim, EventKind.ATTEMPT_FAILED, about)
    change = Change(after, claim.claim_token, used=used, schedule=schedule, event=event)
    provider = metrics.provider_label(claim.brief.setup.player)

    def announce(services: Services, outcomes: Sequence[Outcome]) -> None:
        [outcome] = outcomes
        after = outcome.debate
        metrics.turn_failures.labels(provider, problem.kind).inc()
        if after.status is Status.FAILED:
            metrics.debates_failed.labels(provider).inc()
        log.warning(
            "turn.failed",
            debate_id=str(after.id),
            round=after.cursor.round,
            seat=claim.brief.seat,
            kind=problem.kind,
            attempts=attempts,
            status=after.status,
            wait_seconds=None if delay is None else round(delay, 1),
            error=message,
        )
        _publish_state(services, outcomes)

    return Step(claim, change, announce)


def postponement_step(claim: Claim, message: str, delay_seconds: float, usage: Usage | None = None) -> Step:
    """The turn has to wait: no attempt is counted, but its cost is, and may reach a limit."""
    used = storable_usage(usage or Usage())
    reached = limit_reached(claim.debate, used)
    if reached:
        return Step(claim, Change(ended_by(claim.debate, reached), claim.claim_token, used=used), _publish_state)
    waiting = claim.debate.evolve(last_error=storable_text(message))
    # It may wait many times for the same thing: noted is the first.
    is_new = claim.debate.last_error != waiting.last_error
    event = _event(claim, EventKind.POSTPONED, {"reason": waiting.last_error}) if is_new else None
    change = Change(waiting, claim.claim_token, used=used, schedule=Later(delay_seconds), event=event)

    def announce(services: Services, outcomes: Sequence[Outcome]) -> None:
        [outcome] = outcomes
        debate_id = str(outcome.debate.id)
        log.info("turn.postponed", debate_id=debate_id, wait_seconds=round(delay_seconds, 1), reason=message)
        _publish_state(services, outcomes)

    return Step(claim, change, announce)


def _event(claim: Claim, kind: EventKind, about: Mapping[str, object]) -> NewEvent:
    cursor, claimed_at = claim.debate.cursor, time_of(claim.token)
    where = {"round": cursor.round, "role": cursor.seat.role, "player": claim.brief.setup.player}
    return NewEvent(kind, claim.claim_token.worker_id, {**where, **about, "claimed_at": time_json(claimed_at)})


def release_step(claim: Claim, usage: Usage | None = None) -> Step:
    """Releases the turn untaken, for another worker. `usage` is its cost so far."""
    used = storable_usage(usage or Usage())
    return Step(claim, Change(claim.debate, claim.claim_token, used=used, is_activity=False), _enqueue_due)


def _publish_turns(services: Services, outcomes: Sequence[Outcome]) -> None:
    publish_stored(services, *((outcome.debate, outcome.turns) for outcome in outcomes))
    _enqueue_due(services, [outcome for outcome in outcomes if not outcome.has_next_claim])


def _enqueue_due(services: Services, outcomes: Sequence[Outcome]) -> None:
    enqueue_due(services, *(outcome.debate for outcome in outcomes))


def _publish_state(services: Services, outcomes: Sequence[Outcome]) -> None:
    services.publisher.publish(*(state_changed(outcome.debate) for outcome in outcomes))


def _publish_nothing(_services: Services, _outcomes: Sequence[Outcome]) -> None:
    """No listener could see a change."""


def shares_with_waiting(services: Services, shares: Sequence[str]) -> set[str]:
    """Of these shares, those in which a debate waits to be claimed."""
    return claims.shares_with_waiting(services.engine, shares)
