"""Calls to models, for players and the guardrail: with a slot of the provider, and within the cost limits."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import structlog

from app.core.debate import Usage
from app.core.players import LOCAL, model_of
from app.core.retry import NotNow, PlayerError
from app.models.table import has_price
from app.observe import metrics, tracing
from app.settings import ProviderSettings
from app.usecases import judgments, model_calls
from app.usecases.model_calls import Reservation
from app.usecases.outages import tolerate_outage
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
"""To each provider. Their refused share distinguishes a random refusal from an overload."""


@dataclass(slots=True)
class _BegunCall:
    """A call of which it is not yet known how it ends, or that has ended."""

    is_refused: bool = False


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
        self._slots = Slots(lambda *what: model_calls.allot_slots(services, what[0], worker_id, *what[1:]))
        # Calls in flight are among the latest, so that they count for the share of those that were refused.
        most = max(LATEST_CALLS, 2 * services.settings.model_concurrency)
        self._latest: defaultdict[str, deque[_BegunCall]] = defaultdict(lambda: deque(maxlen=most))
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
                question, reservation = await self._begin(await prepare())
                return question, await self._call(question, hear, reservation, base_url)
        provider, _ = model_of(player) or ("", "")
        async with self._slots.one_of(provider, behind=behind):
            question, reservation = await self._begin(await prepare())
            latest, begun = self._latest[provider], _BegunCall()
            latest.append(begun)
            try:
                return question, await self._call(question, hear, reservation)
            except PlayerError as problem:
                if problem.kind == "rate_limit":
                    begun.is_refused = True
                    share = sum(call.is_refused for call in latest) / len(latest)
                    await self._record(model_calls.slow_down, provider, share)
                raise

    async def _call(
        self,
        question: Question,
        hear: Callable[[str], None],
        reservation: Reservation,
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
                if reservation.is_of_money or spent or not is_priced:
                    settling = self._record(model_calls.settle, reservation, spent, True, is_priced)
                    await asyncio.shield(settling)
        except asyncio.CancelledError:
            # Cancelled during the call or while its cost was settled: the turn will not store its usage.
            if used:
                await self.charge(question, used)
            raise
        return reply

    async def charge(self, question: Question, used: Usage) -> None:
        """Adds the usage of a canceled turn to the debate, that of a canceled judgment to the judgment."""
        payer = question.debate_id or question.judgment_id
        if payer is not None:
            charge = model_calls.charge if question.debate_id else judgments.charge
            await asyncio.shield(self._record(charge, payer, used, None, question.call_id))

    async def _record(self, action: Callable[..., Any], *what: Any) -> None:
        """Only logs a failure: a paid answer must not be lost for it. The reservation then stays."""
        with tolerate_outage("model_call.record"):
            await asyncio.to_thread(action, self.services, *what)

    async def _begin(self, question: Question) -> tuple[Question, Reservation]:
        # A short transaction, in a thread: it must not block the event loop.
        begin = asyncio.to_thread(model_calls.begin, self.services, self._lease_id(), question.new_call)
        task = asyncio.create_task(begin)
        try:
            reservation = await asyncio.shield(task)
        except asyncio.CancelledError:
            # A reservation that is not settled would stay until the end of the day.
            with suppress(NotNow, PlayerError):
                await self._record(model_calls.settle, await task, 0.0, False)
            raise
        return replace(question, call_id=reservation.call_id), reservation


def read_answer(question: Question, reply: Reply, reader: Callable[[str], Result]) -> Result:
    """An incomplete answer, or one of the wrong shape, is a failed attempt, with its cost. Of the local model, which
    seldom ends before its limit, the turn is what it generated within max_tokens."""
    try:
        if reply.cut_off and question.player != LOCAL:
            raise UnusableAnswer(f"it was cut off, because max_tokens ({question.max_tokens}) was used up")
        return reader(reply.text)
    except UnusableAnswer as problem:
        words = f"{question.player}: the answer cannot be used: {problem}."
        raise PlayerError(words, kind="answer", usage=reply.usage) from None


def nothing(_: str) -> None:
    """Discards the pieces of an answer."""
