"""Calls to models, for players and the guardrail: with a slot of the provider, and within the daily cost limit. Runs on
the event loop of the process."""

import asyncio
import random
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import structlog

from app.core.debate import Usage
from app.core.players import LOCAL, model_of
from app.core.retry import NotNow, PlayerError
from app.core.texts import storable_usage
from app.models.table import cost_usd, has_price
from app.observe import metrics, tracing
from app.settings import ProviderSettings
from app.store.calls_under_way import Call
from app.store.engine import DatabaseUnavailable
from app.store.errors import log_words
from app.store.experiments.costs import BudgetRefused
from app.store.model_calls import DayRefused
from app.store.unavailable import tolerate_outage
from app.usecases import judgments, model_calls
from app.usecases.model_calls import LeaseLapsed, QuotaSpent, Reservation
from app.usecases.services import Services
from worker.players.models.adapter import Adapter, Question, Reply, guessed_usage
from worker.players.models.answers import UnusableAnswer
from worker.players.models.local import LocalModel
from worker.players.models.slots import Slots

log = structlog.get_logger(__name__)
Result = TypeVar("Result")

Prepare = Callable[[], Awaitable[Question]]
"""Makes the question when its call may begin: a prompt may be large, and many calls may wait for a slot."""
LATEST_CALLS = 100
"""To each provider, or twice as many as may be in flight. Their refused share tells a refusal at random from an
overload."""
_ASK_AGAIN_SECONDS = 300.0
"""How often a turn that waits for the daily limit checks whether it was raised."""
_BUDGET_SECONDS = 30.0
"""Its experiment is stopped, and a start releases what waits; only what is stored after that start waits so long."""
_SOON_SECONDS = 3.0
_BEGIN_AGAIN_SECONDS = 1.0
_NOT_BEGUN = (*DatabaseUnavailable, LeaseLapsed)
_Beginning = Reservation | DayRefused | BudgetRefused


@dataclass(slots=True)
class _BegunCall:
    """A call of which it is not yet known how it ends, or that has ended."""

    is_refused: bool = False
    """With HTTP 429."""


class ModelCalls:
    def __init__(
        self,
        services: Services,
        worker_id: str,
        providers: ProviderSettings,
        lease_id: Callable[[], str] | None = None,
    ) -> None:
        """`lease_id` is the worker's id under its current lease: what an experiment reserves is lost with it."""
        self.services = services
        self._lease_id = lease_id or (lambda: worker_id)
        self._adapter = Adapter(providers, services.settings.model_timeout_seconds, services.settings.endpoint_urls)
        self._slots = Slots(lambda *what: model_calls.share_slots(services, what[0], worker_id, *what[1:]))
        # Calls in flight are among the latest, so that they count for the share of those that were refused.
        most = max(LATEST_CALLS, 2 * services.settings.model_concurrency)
        self._latest: defaultdict[str, deque[_BegunCall]] = defaultdict(lambda: deque(maxlen=most))
        """By provider."""
        self._local = LocalModel()

    async def close(self) -> None:
        await self._slots.close()
        self._local.close()

    async def ask(
        self, player: str, prepare: Prepare, hear: Callable[[str], None], behind: bool = False
    ) -> tuple[Question, Reply]:
        """`hear` is called with every piece of the answer as it comes; `behind` lets others go first."""
        provider, _, name = player.partition(":")
        asked = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": name or provider,
        }
        with tracing.span(f"chat {name or provider}", asked):
            question, reply = await self._ask(player, prepare, hear, behind)
            used = reply.usage
            tracing.note(
                {
                    "gen_ai.usage.input_tokens": used.input_tokens,
                    "gen_ai.usage.output_tokens": used.output_tokens,
                    "cost_usd": used.cost_usd,
                }
            )
            return question, reply

    async def _ask(
        self, player: str, prepare: Prepare, hear: Callable[[str], None], behind: bool
    ) -> tuple[Question, Reply]:
        if player == LOCAL:
            async with self._local.ready() as base_url:
                question = await prepare()
                await self._begin(question, is_limited=False)
                return question, await self._call(question, hear, base_url=base_url)
        provider, _ = model_of(player) or ("", "")
        async with self._slots.one_of(provider, behind=behind):
            question = await prepare()
            reservation = await self._begin(question)
            latest, begun = self._latest[provider], _BegunCall()
            latest.append(begun)
            try:
                return question, await self._call(question, hear, reservation)
            except PlayerError as problem:
                if problem.kind == "rate_limit":
                    begun.is_refused = True
                    share = sum(call.is_refused for call in latest) / len(latest)
                    await self._write_down(model_calls.slow_down, provider, share)
                raise

    async def _call(
        self,
        question: Question,
        hear: Callable[[str], None],
        reservation: Reservation | None = None,
        base_url: str | None = None,
    ) -> Reply:
        heard: list[str] = []
        used: Usage | None = None

        def listen(piece: str) -> None:
            heard.append(piece)
            hear(piece)

        try:
            try:
                began = time.monotonic()
                reply = await self._adapter.ask(question, listen, base_url)
                used = reply.usage.with_latency(round((time.monotonic() - began) * 1000))
                reply = replace(reply, usage=used)
            except PlayerError as problem:
                used = problem.usage
                raise
            except asyncio.CancelledError:
                # The provider bills what it generates until it notices the disconnect.
                used = guessed_usage(question, "".join(heard))
                raise
            finally:
                spent = used.cost_usd if used else 0.0
                if spent:
                    metrics.model_cost.labels(metrics.player_label(question.player)).inc(spent)
                is_priced = used is None or has_price(question.player)
                reservation = reservation or Reservation(0.0, None)
                if reservation.is_of_money or spent or not is_priced:
                    settled = (reservation, spent, True, is_priced)
                    await asyncio.shield(self._write_down(model_calls.settle, *settled))
        except asyncio.CancelledError:
            # Cancelled during the call or while its cost was settled: the turn will not store its usage.
            if used:
                await self.charge(question, used)
            raise
        return reply

    async def charge(self, question: Question, used: Usage) -> None:
        """Adds the usage of a cancelled turn to the debate, that of a cancelled judgment to the judgment."""
        payer = question.debate_id or question.judgment_id
        if payer is not None:
            charge = model_calls.charge if question.debate_id else judgments.charge
            call_id = question.call_id if question.claim else None
            await asyncio.shield(self._write_down(charge, payer, used, None, call_id))

    async def _write_down(self, action: Callable[..., Any], *what: Any) -> None:
        """Only logs a failure: an answer that was paid for must not be lost for it. The reservation then stays."""
        with tolerate_outage("model_call.record"):
            await asyncio.to_thread(action, self.services, *what)

    async def _begin(self, question: Question, is_limited: bool = True) -> Reservation | None:
        """Reserves what the call may cost and records that it begins; None where there is nothing to write down."""
        amount = self._to_reserve(question) if is_limited else None
        call = _recorded(question)
        lease_id = self._lease_id()
        begin: Callable[[], _Beginning]
        if amount is not None:
            begin = partial(model_calls.reserve, self.services, amount, question.experiment_id, lease_id, call)
        elif call is not None:
            begin = partial(model_calls.record, self.services, lease_id, call)
        else:
            return None
        # A short transaction, in a thread: it must not block the event loop.
        task = asyncio.create_task(asyncio.to_thread(begin))
        try:
            begun = await asyncio.shield(task)
        except asyncio.CancelledError:
            await self._give_back(task)
            raise
        except _NOT_BEGUN as problem:
            log.warning("model_call.not_begun", problem=log_words(problem))
            raise NotNow("The call could not be recorded before it began.", _BEGIN_AGAIN_SECONDS) from problem
        except QuotaSpent as problem:
            raise _not_today(problem) from None
        if isinstance(begun, BudgetRefused):
            raise _not_within(begun)
        if isinstance(begun, DayRefused):
            raise _not_now(begun, self.services.settings.max_cost_usd_per_day or 0.0)
        return begun

    def _to_reserve(self, question: Question) -> float | None:
        """None where no limit and no budget asks for it."""
        limit = self.services.settings.max_cost_usd_per_day
        if limit is None and question.experiment_id is None:
            return None
        amount = cost_usd(question.player, Usage(question.most_input_tokens, question.max_tokens))
        if limit is None:
            # Only an experiment without a budget may have players without a price.
            return amount
        if amount is None:
            words = f"{question.player}: no price is known for it, so the limit for a day could not be kept."
            raise PlayerError(words, permanent=True, kind="price")
        if amount > limit:
            words = f"{question.player}: one call may cost ${amount:.4f}, more than the limit of ${limit:g} for a day."
            raise PlayerError(words, permanent=True, kind="price")
        return amount

    async def _give_back(self, beginning: "asyncio.Task[_Beginning]") -> None:
        """A reservation that is not settled would stay until the end of the day."""
        try:
            begun = await beginning
        except QuotaSpent:
            return
        except _NOT_BEGUN as problem:
            log.warning("model_call.not_written_down", problem=log_words(problem))
            return
        if isinstance(begun, Reservation):
            await self._write_down(model_calls.settle, begun, 0.0, False)


def _recorded(question: Question) -> Call | None:
    """The call as it is recorded; None for the guardrail's, which nobody pays for."""
    payer = question.debate_id or question.judgment_id
    if question.claim is None or payer is None:
        return None
    sent = storable_usage(guessed_usage(question, ""))
    return Call(question.call_id, question.claim, question.debate_id, question.judgment_id, sent)


def read_answer(question: Question, reply: Reply, reader: Callable[[str], Result]) -> Result:
    """An incomplete answer, or one of the wrong shape, is a failed attempt, with its cost.

    Except for the local model, which seldom ends by itself: its turn is what it generated within max_tokens.
    """
    try:
        if reply.cut_off and question.player != LOCAL:
            raise UnusableAnswer(f"it was cut off, because max_tokens ({question.max_tokens}) was used up")
        return reader(reply.text)
    except UnusableAnswer as problem:
        words = f"{question.player}: the answer cannot be used: {problem}."
        raise PlayerError(words, kind="answer", usage=reply.usage) from None


def _not_now(refused: DayRefused, limit: float) -> NotNow:
    spread = random.SystemRandom().uniform(0.5, 1.0)
    if not refused.is_spent:
        words = f"Waiting for calls under way: with them the limit of ${limit:g} for a day is reached."
        return NotNow(words, _SOON_SECONDS * spread)
    words = f"This server's limit of ${limit:g} a day (UTC) for models is reached. Waiting for the next day."
    return NotNow(words, min(_ASK_AGAIN_SECONDS * spread, refused.seconds_left + _SOON_SECONDS * spread))


def _not_today(spent: QuotaSpent) -> NotNow:
    spread = random.SystemRandom().uniform(0.5, 1.0)
    words = f"The key that pays has spent its quota of ${spent.quota_usd:g} a day (UTC). Waiting for the next day."
    return NotNow(words, min(_ASK_AGAIN_SECONDS * spread, spent.seconds_left + _SOON_SECONDS * spread))


def _not_within(refused: BudgetRefused) -> NotNow:
    spread = random.SystemRandom().uniform(0.5, 1.0)
    if not refused.is_spent:
        words = f"Waiting for calls under way: with them the experiment's budget of ${refused.budget_usd:g} is reached."
        return NotNow(words, _SOON_SECONDS * spread)
    words = f"The experiment's budget of ${refused.budget_usd:g} is reached. Raise it to continue."
    return NotNow(words, _BUDGET_SECONDS * spread)


def nothing(_: str) -> None:
    """Discards the pieces of an answer."""
