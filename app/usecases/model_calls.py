"""Limits that worker processes share: concurrent model calls per provider, and the cost per day."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from uuid import UUID

import structlog

from app.core import model_calls
from app.core.debate import Usage
from app.core.players import LOCAL
from app.core.retry import NotNow, PlayerError
from app.core.texts import storable_usage
from app.models.table import most_cost_usd
from app.observe import metrics
from app.store import calls_under_way, debates, quotas
from app.store import model_calls as store
from app.store.calls_under_way import Call
from app.store.engine import Connection, DatabaseUnavailable
from app.store.errors import log_words
from app.store.experiments import costs
from app.store.experiments.costs import BudgetRefused
from app.store.ids import new_id
from app.store.model_calls import DayRefused
from app.usecases.experiments.manage import stop_for_budget
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)

LEASE_SECONDS = 10.0
"""Slots of a process that has not renewed them for this long are free."""
_ROTATE_EVERY_SECONDS = 2
_ASK_AGAIN_SECONDS = 300.0
"""How often a turn that waits for the daily limit checks whether it was raised."""
_BUDGET_SECONDS = 30.0
"""Of a debate that was stored after its experiment was stopped."""
_SOON_SECONDS = 3.0
_BEGIN_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class NewCall:
    player: str
    most: Callable[[], Usage]
    sent: Usage
    claim: UUID | None
    """The token of the claim under which it is made. A call of the guardrail has none, and no payer."""
    debate_id: UUID | None
    judgment_id: UUID | None
    experiment_id: UUID | None


@dataclass(frozen=True, slots=True)
class Reservation:
    amount_usd: float
    day: date | None
    of_experiment: UUID | None = None
    call_id: UUID | None = None
    payer: UUID | None = None

    @property
    def is_of_money(self) -> bool:
        return self.day is not None or self.of_experiment is not None or self.payer is not None


class QuotaSpent(Exception):
    """The agent that pays has spent its quota: no call begins before the next day."""

    def __init__(self, quota_usd: float, seconds_left: float) -> None:
        super().__init__(f"quota of ${quota_usd:g}")
        self.quota_usd = quota_usd
        self.seconds_left = seconds_left


class LeaseLapsed(Exception):
    """The worker's lease is not live: its claims may be another worker's, so no call begins."""


@repeated_on_conflict
def allot_slots(services: Services, provider: str, worker_id: str, held: int, wanted: int) -> int:
    """Stores the slots that this process holds and wants; returns how many it may hold from now on.

    No process stores fewer held slots than its calls use, so all together never exceed the limit.
    """
    with services.engine.begin() as connection:
        locked = store.lock_provider(connection, provider)
        limit = _limit(services, locked)
        others = store.slots_of_others(connection, provider, worker_id)
        demands = {other: demand for other, (_, demand) in others.items()} | {worker_id: wanted}
        turn = int(locked.clock_seconds // _ROTATE_EVERY_SECONDS)
        share = model_calls.fair_shares(limit, demands, turn)[worker_id]
        may_hold = model_calls.allowed(limit, share, sum(other_held for other_held, _ in others.values()))
        store.write_slots(connection, provider, worker_id, max(held, may_hold), wanted, LEASE_SECONDS)
    return may_hold


@repeated_on_conflict
def slow_down(services: Services, provider: str, refused_share: float) -> None:
    """After HTTP 429: lowers the limit of all workers, which then recovers. `refused_share` is of this process's
    calls."""
    with services.engine.begin() as connection:
        now = _limit(services, store.lock_provider(connection, provider))
        to = model_calls.lowered(now, refused_share)
        lowered = to < now and store.lower_provider(connection, provider, to)
    if lowered:
        log.warning("provider.slowed_down", provider=provider, calls_at_once=to)


def _limit(services: Services, provider: store.ProviderLimit | store.SlotsNow) -> int:
    configured = services.settings.model_concurrency
    if provider.lowered_to is None:
        return configured
    return model_calls.recovered(configured, provider.lowered_to, provider.seconds_since_lowered)


@dataclass(frozen=True, slots=True)
class ProviderNow:
    name: str
    held: int
    wanted: int
    limit: int
    is_lowered: bool
    """The provider returned 429: the limit was lowered and rises again."""


def providers_now(services: Services, connection: Connection) -> tuple[ProviderNow, ...]:
    most = services.settings.model_concurrency
    return tuple(
        ProviderNow(slots.provider, slots.held, slots.wanted, limit, limit < most)
        for slots in store.slots_now(connection)
        for limit in (_limit(services, slots),)
    )


@dataclass(frozen=True, slots=True)
class MoneyToday:
    known_usd: float
    reserved_usd: float
    unpriced_calls: int
    limit_usd: float | None

    @property
    def spent_usd(self) -> float | None:
        """None where a call had no known price."""
        return None if self.unpriced_calls else self.known_usd

    @property
    def left_usd(self) -> float | None:
        if self.limit_usd is None:
            return None
        return max(0.0, self.limit_usd - self.known_usd - self.reserved_usd)


def money_today(services: Services, connection: Connection) -> MoneyToday:
    return MoneyToday(*store.costs_today(connection), services.settings.max_cost_usd_per_day)


def begin(services: Services, lease_id: str, new: NewCall) -> Reservation:
    """Reserves a call's maximum cost and records that it begins. Raises NotNow when it must not begin yet, or
    PlayerError when it never may."""
    amount = _to_reserve(services, new)
    recorded = None
    if new.claim is not None and (new.debate_id or new.judgment_id):
        recorded = Call(new_id(), new.claim, new.debate_id, new.judgment_id, storable_usage(new.sent))
    try:
        if amount is not None:
            begun = reserve(services, amount, new.experiment_id, lease_id, recorded)
        elif recorded is not None:
            begun = record(services, lease_id, recorded)
        else:
            begun = Reservation(0.0, None)
    except (*DatabaseUnavailable, LeaseLapsed) as problem:
        log.warning("model_call.record_failed", problem=log_words(problem))
        raise NotNow("The call could not be recorded before it began.", _BEGIN_AGAIN_SECONDS) from problem
    except QuotaSpent as spent:
        words = f"The key that pays has spent its quota of ${spent.quota_usd:g} a day (UTC). Waiting for the next day."
        raise _until_tomorrow(words, spent.seconds_left) from None
    if isinstance(begun, Reservation):
        return begun
    if isinstance(begun, BudgetRefused):
        limit = f"the experiment's budget of ${begun.budget_usd:g}"
        later = _spread(f"T{limit[1:]} is reached. Raise it to continue.", _BUDGET_SECONDS)
    else:
        a_day = services.settings.max_cost_usd_per_day or 0.0
        limit = f"the limit of ${a_day:g} for a day"
        words = f"This server's limit of ${a_day:g} a day (UTC) for models is reached. Waiting for the next day."
        later = _until_tomorrow(words, begun.seconds_left)
    if not begun.is_spent:
        later = _spread(f"Waiting for calls in flight: with them {limit} is reached.", _SOON_SECONDS)
    raise later


def _to_reserve(services: Services, new: NewCall) -> float | None:
    limit = services.settings.max_cost_usd_per_day
    if new.player == LOCAL or (limit is None and new.experiment_id is None):
        return None
    amount = most_cost_usd(new.player, new.most())
    if limit is None:
        # Only an experiment without a budget may have players without a price.
        return amount
    problem = None
    if amount is None:
        problem = "no price is known for it, so the limit for a day could not be kept"
    elif amount > limit:
        problem = f"one call may cost ${amount:.4f}, more than the limit of ${limit:g} for a day"
    if problem:
        raise PlayerError(f"{new.player}: {problem}.", permanent=True, kind="price")
    return amount


def _spread(message: str, delay_seconds: float, least_seconds: float = 0.0) -> NotNow:
    """So that calls that were refused together are not repeated together."""
    return NotNow(message, delay_seconds * random.SystemRandom().uniform(0.5, 1.0) + least_seconds)


def _until_tomorrow(message: str, seconds_left: float) -> NotNow:
    soon = _spread(message, _SOON_SECONDS, seconds_left)
    again = _spread(message, _ASK_AGAIN_SECONDS)
    return min(soon, again, key=lambda later: later.delay_seconds)


@repeated_on_conflict
def reserve(
    services: Services,
    amount_usd: float,
    experiment_id: UUID | None = None,
    worker_id: str = "",
    call: Call | None = None,
) -> Reservation | DayRefused | BudgetRefused:
    """Reserves a call's maximum cost, if limit and budget allow it, and records that it begins. Stops an experiment
    whose budget has nothing left for the call, whatever the calls in flight release."""
    limit = services.settings.max_cost_usd_per_day
    reserved: date | DayRefused | None = None
    budget_id = new_id() if experiment_id else None
    too_much: BudgetRefused | None = None
    payer: UUID | None = None
    with services.engine.begin() as connection:
        if budget_id and experiment_id:
            too_much = costs.reserve(connection, budget_id, experiment_id, worker_id, amount_usd)
        if too_much is None and limit is not None:
            reserved = store.reserve_cost(connection, amount_usd, limit)
            if isinstance(reserved, DayRefused) and budget_id:
                costs.record(connection, budget_id, 0.0)
        if too_much is None and not isinstance(reserved, DayRefused):
            payer = _record(services, connection, call, worker_id)
    if too_much is not None:
        if too_much.is_spent and experiment_id:
            stop_for_budget(services, experiment_id, too_much.budget_usd)
        return too_much
    if isinstance(reserved, DayRefused):
        return reserved
    return Reservation(amount_usd, reserved, budget_id, call.id if call else None, payer)


@repeated_on_conflict
def record(services: Services, worker_id: str, call: Call) -> Reservation:
    with services.engine.statements() as connection:
        payer = _record(services, connection, call, worker_id)
    return Reservation(0.0, None, call_id=call.id, payer=payer)


def _record(services: Services, connection: Connection, call: Call | None, worker_id: str) -> UUID | None:
    """Returns the agent that pays for it."""
    if call is None:
        return None
    payer = quotas.payer_of(connection, call.debate_id, call.judgment_id)
    quota = services.settings.agent_quotas
    if payer and quota and quotas.spent_usd(connection, payer) >= quota.usd:
        raise QuotaSpent(quota.usd, quotas.seconds_left(connection))
    if not calls_under_way.begin(connection, call, worker_id):
        raise LeaseLapsed
    return payer


@repeated_on_conflict
def settle(
    services: Services, reservation: Reservation, spent_usd: float, was_made: bool = True, is_priced: bool = True
) -> None:
    """Replaces the reservation by the actual cost. A call that was not made is no longer in flight either."""
    with services.engine.begin() as connection:
        if reservation.of_experiment is not None:
            costs.record(connection, reservation.of_experiment, spent_usd)
        if reservation.payer is not None and spent_usd:
            quotas.spend(connection, reservation.payer, spent_usd)
        if reservation.call_id is not None and not was_made:
            calls_under_way.remove(connection, call_id=reservation.call_id)
        # The last, as in `reserve`: all calls of a day share this row.
        if reservation.day is not None:
            store.record_cost(connection, reservation.day, reservation.amount_usd, spent_usd)
        elif spent_usd or not is_priced:
            store.add_cost(connection, spent_usd, int(not is_priced))
    if reservation.of_experiment is not None and spent_usd:
        metrics.experiment_cost.inc(spent_usd)


@repeated_on_conflict
def charge(
    services: Services, debate_id: UUID, usage: Usage, claim: UUID | None = None, call_id: UUID | None = None
) -> None:
    """Adds the cost of a call without a turn to the debate's usage, which its limits count.

    Of a recorded call, or of all calls of a claim, only what was not charged yet.
    """
    with services.engine.begin() as connection:
        # First the debate, then its calls, as everybody locks them.
        if debates.lock(connection, debate_id) is None:
            usage = Usage()
        usage = not_charged_yet(connection, usage, claim, call_id)
        if usage.total_tokens or usage.cost_usd:
            debates.charge(connection, debate_id, storable_usage(usage))
    if usage.total_tokens or usage.cost_usd:
        log.info("debate.charged", debate_id=str(debate_id), tokens=usage.total_tokens, cost_usd=usage.cost_usd)


def not_charged_yet(connection: Connection, usage: Usage, claim: UUID | None, call_id: UUID | None) -> Usage:
    """Removes the calls; returns what is left to charge for them. Nothing where they were removed before."""
    if call_id is None and claim is None:
        return usage
    charged = calls_under_way.remove(connection, call_id=call_id, claim=claim)
    return Usage() if charged is None else usage.without(charged)
