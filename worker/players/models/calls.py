"""Asking a model one question: on the one event loop of this process, with a slot of the model's provider, and within
the day's limit. Whoever asks, a seat or the guardrail, asks here."""

import asyncio
import random
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

from app import metrics, tracing
from app.core.debate import Usage
from app.core.players import LOCAL, model_of
from app.prices import cost_usd
from app.settings import ProviderSettings
from app.store.engine import DatabaseAway
from app.store.model_calls import Refused
from app.store.trouble import log_words
from app.usecases import model_calls
from app.usecases.model_calls import Reservation
from app.usecases.services import Services
from worker.players.base import Cancelled, NotNow, PlayerError
from worker.players.models.adapter import Adapter, Question, Reply, guessed_tokens, guessed_usage
from worker.players.models.answers import UnusableAnswer
from worker.players.models.local import LocalModel
from worker.players.models.loop import ModelLoop
from worker.players.models.slots import Slots

log = structlog.get_logger(__name__)
Result = TypeVar("Result")

MAX_TOKENS = 4_096
"""Of an answer, where nobody says otherwise: what a model thinks to itself counts too."""
LOCAL_MAX_TOKENS = 300
_ASK_AGAIN_SECONDS = 300.0
"""How often whoever waits for the day's limit looks whether it was raised."""
_SOON_SECONDS = 3.0


class ModelCalls:
    def __init__(self, services: Services, worker_id: str, providers: ProviderSettings) -> None:
        self._services = services
        self._adapter = Adapter(providers, services.settings.model_timeout_seconds)
        self._slots = Slots(lambda *what: model_calls.share_slots(services, what[0], worker_id, *what[1:]))
        self._local = LocalModel()
        self._loop = ModelLoop()

    def run(self, work: Coroutine[Any, Any, Result], cancelled: threading.Event) -> Result:
        """Waits for work that asks; raises Cancelled soon after the event is set."""
        if cancelled.is_set():
            work.close()
            raise Cancelled
        return self._loop.run(work, cancelled)

    def close(self) -> None:
        self._loop.run(self._slots.close(), threading.Event())
        self._loop.close()
        self._local.close()

    async def ask(self, question: Question, hear: Callable[[str], None]) -> Reply:
        """`hear` is called with every piece of the answer as it comes."""
        provider, _, name = question.player.partition(":")
        asked = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": name or provider,
        }
        with tracing.span(f"chat {name or provider}", asked):
            reply = await self._ask(question, hear)
            used = reply.usage
            tracing.note(
                {
                    "gen_ai.usage.input_tokens": used.input_tokens,
                    "gen_ai.usage.output_tokens": used.output_tokens,
                    "cost_usd": used.cost_usd,
                }
            )
            return reply

    async def _ask(self, question: Question, hear: Callable[[str], None]) -> Reply:
        if question.player == LOCAL:
            async with self._local.ready() as base_url:
                return await self._adapter.ask(question, hear, base_url)
        provider, _ = model_of(question.player) or ("", "")
        async with self._slots.one_of(provider):
            reservation = await self._reserve(question)
            heard: list[str] = []
            spent = 0.0
            try:
                reply = await self._adapter.ask(question, _both(heard.append, hear))
                spent = reply.usage.cost_usd
                return reply
            except PlayerError as problem:
                spent = problem.usage.cost_usd if problem.usage else 0.0
                if problem.kind == "rate_limit":
                    await self._write_down(model_calls.slow_down, provider)
                raise
            except asyncio.CancelledError:
                # The provider counts what it has said until it notices that nobody listens.
                spent = guessed_usage(question, "".join(heard)).cost_usd
                raise
            finally:
                if spent:
                    metrics.model_cost.labels(metrics.player_label(question.player)).inc(spent)
                if reservation:
                    await asyncio.shield(self._write_down(model_calls.settle, reservation, spent))

    async def _write_down(self, action: Callable[..., Any], *what: Any) -> None:
        """An answer that was paid for is not lost because this could not be written down: the reservation stays."""
        try:
            await _in_thread(action, self._services, *what)
        except DatabaseAway as problem:
            log.warning("model_call.not_written_down", problem=log_words(problem))

    async def _reserve(self, question: Question) -> Reservation | None:
        limit = self._services.settings.max_cost_usd_per_day
        if limit is None:
            return None
        asked = guessed_tokens(question.instructions + question.document)
        amount = cost_usd(question.player, Usage(asked, question.max_tokens))
        if amount is None:
            words = f"{question.player}: no price is known for it, so the limit for a day could not be kept."
            raise PlayerError(words, permanent=True, kind="price")
        reserved: Reservation | Refused = await _in_thread(model_calls.reserve, self._services, amount)
        if isinstance(reserved, Refused):
            raise _not_now(reserved, limit)
        return reserved


def usual_max_tokens(player: str) -> int:
    return LOCAL_MAX_TOKENS if player == LOCAL else MAX_TOKENS


def read_answer(question: Question, reply: Reply, reader: Callable[[str], Result]) -> Result:
    """What does not have the shape that was asked for is a failed attempt, and paid for."""
    try:
        return reader(reply.text)
    except UnusableAnswer as problem:
        why = f" (max_tokens, {question.max_tokens}, was used up)" if reply.cut_off else ""
        words = f"{question.player}: the answer cannot be used: {problem}{why}."
        raise PlayerError(words, kind="answer", usage=reply.usage) from None


def _not_now(refused: Refused, limit: float) -> NotNow:
    spread = random.SystemRandom().uniform(0.5, 1.0)
    if not refused.is_spent:
        words = f"Waiting for calls under way: with them the limit of ${limit:g} for a day is reached."
        return NotNow(words, _SOON_SECONDS * spread)
    words = (
        f"The limit of ${limit:g} that this server may spend on models in a day (UTC) is reached. Waiting for the next."
    )
    return NotNow(words, min(_ASK_AGAIN_SECONDS * spread, refused.seconds_left + _SOON_SECONDS * spread))


def nothing(_: str) -> None:
    """Nobody is told."""


def _both(first: Callable[[str], None], second: Callable[[str], None]) -> Callable[[str], None]:
    def hear(piece: str) -> None:
        first(piece)
        second(piece)

    return hear


async def _in_thread(action: Callable[..., Any], *what: Any) -> Any:
    """For a short transaction: the loop must not wait for the database."""
    return await asyncio.to_thread(action, *what)
