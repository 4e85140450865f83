"""Judgments of finished debates: asked of workers' judges, given by people and agents, read; claimed by workers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from app.core.access import (
    Action,
    Agent,
    Caller,
    GuestJudge,
    Operator,
    is_invited_judge,
    is_owner,
    require,
    require_impartial,
)
from app.core.brief import Brief, Exchange, JudgmentKey, Thought
from app.core.claims import Room
from app.core.debate import Debate, Usage
from app.core.errors import Conflict, Forbidden, InvalidInput, NotFound
from app.core.experiments.extension import judges_of
from app.core.judgments import (
    AGENT,
    MOST_BY_HAND,
    PERSON,
    Judge,
    JudgeKind,
    Judgment,
    JudgmentClaim,
    JudgmentStatus,
    brief_for,
    refuse_later_round,
    require_finished,
)
from app.core.players import JudgeOrder, why_unknown
from app.core.retry import NotNow, PlayerError, after_failure
from app.core.texts import checked_name, checked_text, storable_text, storable_usage
from app.core.verdicts import Verdict, why_contradictory
from app.models.table import has_price
from app.observe import failpoints, metrics
from app.store import exchanges, quotas, turns
from app.store import judgments as store
from app.store.engine import Connection, ConnectionLost
from app.store.experiments import experiments
from app.usecases.model_calls import not_charged_yet
from app.usecases.outages import postponed_during_outages
from app.usecases.read import existing, stored_exchanges
from app.usecases.services import Services
from app.usecases.transactions import lock_existing, repeated_on_conflict, spoke_from, transaction

log = structlog.get_logger(__name__)
MAX_JUDGE_BYTES = 200


@dataclass(frozen=True, slots=True)
class Asked:
    judgments: list[Judgment]
    new: int


@repeated_on_conflict
def ask(services: Services, caller: Caller, debate_id: UUID, judge: Judge) -> Asked:
    require(caller, Action.JUDGE)
    _check_judge(services, judge)
    with transaction(services, caller) as connection:
        debate = lock_existing(connection, debate_id)
        require_finished(debate)
        require_impartial(caller, "judge the debate", debate.seats, spoke_from(connection, caller, debate_id))
        rounds = store.last_round(connection, debate_id)
        refuse_later_round(judge.through_round, rounds)
        keys = judge.keys(debate.has_two_orders, rounds)
        experiment_id = _experiment_of(connection, caller, debate, judge)
        if experiment_id is None and len(keys) > MOST_BY_HAND and not isinstance(caller, Operator):
            raise _too_many()
        new = store.plan(connection, debate_id, keys, judge.setup, experiment_id)
        if experiment_id is None:
            _refuse_too_many(connection, caller, debate_id)
        if new and isinstance(caller, Agent):
            quotas.note_asked(connection, caller.id, debate_id, judge.name)
        asked = _with_keys(connection, debate_id, keys, experiment_id)
        if any(one.setup != judge.setup for one in asked):
            raise _with_other_options(judge)
    if new:
        services.publisher.evaluate(asked[-1].id)
    return Asked(asked, new)


@repeated_on_conflict
def give(
    services: Services,
    caller: Caller,
    debate_id: UUID,
    name: str | None,
    order: JudgeOrder,
    verdict: Verdict,
    through_round: int | None = None,
) -> tuple[Judgment, bool]:
    require(caller, Action.JUDGE)
    key = JudgmentKey(_name_of(caller, name), order, through_round=through_round)
    kind = JudgeKind.AGENT if isinstance(caller, Agent) else JudgeKind.PERSON
    checked_text("verdict.reasoning", verdict.reasoning, services.settings.max_content_length)
    problem = why_contradictory(verdict)
    if problem:
        raise InvalidInput("verdict", problem)
    with transaction(services, caller) as connection:
        debate = lock_existing(connection, debate_id)
        if isinstance(caller, GuestJudge) and debate.experiment_id != caller.experiment_id:
            raise Forbidden("This invitation is for the debates of another experiment")
        require_finished(debate)
        require_impartial(caller, "judge the debate", debate.seats, spoke_from(connection, caller, debate_id))
        refuse_later_round(through_round, store.last_round(connection, debate_id))
        experiment_id = debate.experiment_id if is_invited_judge(caller) else None
        is_new = store.give(connection, debate_id, key, kind, verdict, experiment_id)
        if experiment_id is None:
            _refuse_too_many(connection, caller, debate_id)
        [judgment] = _with_keys(connection, debate_id, [key], experiment_id)
    if not is_new and not verdict.says_the_same_as(judgment.verdict):
        raise Conflict(f"{key.judge} has already judged this debate in this order, with another verdict")
    return judgment, is_new


def _name_of(caller: Caller, name: str | None) -> str:
    if isinstance(caller, Agent):
        if name not in (None, caller.username):
            raise InvalidInput("judge", "an agent judges under its own name: leave it out")
        return f"{AGENT}{caller.username}"
    if isinstance(caller, GuestJudge):
        return f"{PERSON}{caller.judge}"
    given = caller.name if name is None else name.removeprefix(PERSON)
    return f"{PERSON}{checked_name('judge', given, MAX_JUDGE_BYTES - len(PERSON))}"


def _experiment_of(connection: Connection, caller: Caller, debate: Debate, judge: Judge) -> UUID | None:
    """The experiment in which this judgment counts: its owner or the operator asks a judge of its spec."""
    of = experiments.get(connection, debate.experiment_id) if debate.experiment_id else None
    if of is None or not is_owner(caller, of.created_by):
        return None
    known = {one.name: one.setup for one in judges_of(of.spec)}
    if judge.name not in known:
        return None
    if known[judge.name] != judge.setup:
        raise _with_other_options(judge)
    return of.id


def _with_other_options(judge: Judge) -> Conflict:
    return Conflict(f"The judge {judge.name!r} has judged this debate with another player or other options")


def _refuse_too_many(connection: Connection, caller: Caller, debate_id: UUID) -> None:
    """After they were added: the transaction, which has locked the debate, is rolled back. The operator has no
    limit."""
    if not isinstance(caller, Operator) and store.count_by_hand(connection, debate_id) > MOST_BY_HAND:
        raise _too_many()


def _too_many() -> Conflict:
    return Conflict(f"A debate has at most {MOST_BY_HAND:,} requested judgments")


def _with_keys(
    connection: Connection, debate_id: UUID, keys: Sequence[JudgmentKey], experiment_id: UUID | None
) -> list[Judgment]:
    found = store.of_debate(connection, debate_id)
    return [one for one in found if one.key in keys and one.experiment_id == experiment_id]


def _check_judge(services: Services, judge: Judge) -> None:
    checked_name("judge", judge.name, MAX_JUDGE_BYTES)
    if judge.name.startswith((PERSON, AGENT)):
        raise InvalidInput("judge", f"a worker's judge has no name that begins with {PERSON} or {AGENT}")
    player, persona = judge.setup.player, judge.setup.persona
    problem = why_unknown(player, services.settings.endpoint_urls)
    if problem or judge.setup.is_external:
        raise InvalidInput("player", problem or "must be a worker's player, not external")
    if services.settings.max_cost_usd_per_day is not None and not has_price(player):
        raise InvalidInput("player", f"no price is known for {player!r}, so the daily limit could not be enforced")
    if persona is not None:
        checked_text("persona", persona, services.settings.max_content_length)


def of_debate(services: Services, debate_id: UUID) -> list[Judgment]:
    with services.engine.statements() as connection:
        existing(connection, debate_id)
        return store.of_debate(connection, debate_id)


def get_exchanges(
    services: Services, caller: Caller, debate_id: UUID, judgment_id: UUID
) -> tuple[Judgment, list[Exchange]]:
    require(caller, Action.INSPECT)
    with services.engine.statements() as connection:
        existing(connection, debate_id)
        judgment = store.get(connection, judgment_id)
        if judgment is None or judgment.debate_id != debate_id:
            raise NotFound(f"There is no judgment {judgment_id} of this debate")
        found = exchanges.of_judgment(connection, judgment_id)
    return judgment, stored_exchanges(found, f"judgment {judgment_id}")


# For workers


@repeated_on_conflict
def claim(services: Services, worker_id: str, room: Room) -> list[JudgmentClaim]:
    claimed = store.claim(services.engine, worker_id, room)
    if claimed:
        failpoints.reach("judgment.after_claim", ConnectionLost)
    return claimed


@postponed_during_outages()
def brief_of(services: Services, held: JudgmentClaim) -> Brief | None:
    """The transcript, or its beginning; None where the debate is open again or deleted."""
    found = turns.with_debate(services.engine, held.judgment.debate_id, None)
    if found is None or not found[0].is_closed:
        return None
    debate, (motion, *others) = found
    # The budget of an experiment pays for the judgments that count in it, and for no others.
    debate = debate.evolve(experiment_id=held.judgment.experiment_id)
    brief = brief_for(debate, motion, tuple(others), held.judgment.setup, held.judgment.key)
    return replace(brief, document=services.documents.of(services.engine, debate), claim=held.token)


@repeated_on_conflict
def record(services: Services, held: JudgmentClaim, thought: Thought) -> None:
    verdict = thought.verdict
    if verdict is None:
        nothing = PlayerError("The judge gave no verdict.", kind="answer", usage=thought.usage)
        record_failure(services, held, nothing, jitter=0.0)
        return
    used = storable_usage(thought.usage)
    failpoints.reach("judgment.before_commit", ConnectionLost)
    with services.engine.begin() as connection:
        kept = store.complete(connection, held, verdict, thought, used)
    failpoints.reach("judgment.after_commit", ConnectionLost)
    player = held.judgment.setup.player
    if kept:
        metrics.judgments.labels(JudgmentStatus.COMPLETED.value, metrics.provider_label(player)).inc()
        log.info(
            "judgment.settled",
            judgment_id=str(held.id),
            debate_id=str(held.judgment.debate_id),
            judge=held.judgment.key.judge,
            order=held.judgment.key.order.value,
            player=player,
            cost_usd=used.cost_usd,
        )
    else:
        log.info("judgment.dropped", judgment_id=str(held.id))
        charge(services, held.id, used, held.recorded_claim)


@repeated_on_conflict
def record_failure(services: Services, held: JudgmentClaim, problem: PlayerError, jitter: float) -> None:
    attempts = held.attempts + 1
    delay_seconds = after_failure(attempts, problem.permanent, jitter)
    words, used = storable_text(problem.message), storable_usage(problem.usage or Usage())
    with services.engine.begin() as connection:
        if delay_seconds is None:
            kept = store.fail(connection, held, words, used)
        else:
            delay = max(delay_seconds, problem.retry_after_seconds or 0)
            kept = store.postpone(connection, held, attempts, delay, words, used)
    if not kept:
        charge(services, held.id, used, held.recorded_claim)
    if delay_seconds is None:
        provider = metrics.provider_label(held.judgment.setup.player)
        metrics.judgments.labels(JudgmentStatus.FAILED.value, provider).inc()
    log.warning("judgment.failed", judgment_id=str(held.id), attempts=attempts, kind=problem.kind, error=words)


@repeated_on_conflict
def postpone(services: Services, held: JudgmentClaim, reason: NotNow) -> None:
    words, used = storable_text(reason.message), storable_usage(reason.usage or Usage())
    with services.engine.begin() as connection:
        kept = store.postpone(connection, held, held.attempts, reason.delay_seconds, words, used)
    if not kept:
        charge(services, held.id, used, held.recorded_claim)
    wait_seconds = round(reason.delay_seconds, 1)
    log.info("judgment.postponed", judgment_id=str(held.id), wait_seconds=wait_seconds, reason=reason.message)


@repeated_on_conflict
def charge(
    services: Services, judgment_id: UUID, usage: Usage, claim: UUID | None = None, call_id: UUID | None = None
) -> None:
    """Adds the cost of a call that brought no opinion. See `app.usecases.model_calls.charge`."""
    with services.engine.begin() as connection:
        store.lock(connection, judgment_id)
        usage = not_charged_yet(connection, usage, claim, call_id)
        if usage.total_tokens or usage.cost_usd:
            store.charge(connection, judgment_id, storable_usage(usage))
