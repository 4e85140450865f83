"""Real models in the seats: from a brief to a question, from an answer to a move."""

import asyncio
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog

from app.core.brief import Brief, Thought
from app.core.debate import TurnType, Usage
from app.core.formats import Format
from app.core.limits import limit_reached
from app.core.players import LOCAL, JudgeOrder, model_of
from app.core.seats import Seat
from app.prices import cost_usd
from app.settings import ProviderSettings
from app.store.engine import DatabaseAway
from app.store.model_calls import Refused
from app.usecases import model_calls
from app.usecases.model_calls import Reservation
from app.usecases.services import Services
from worker.players.base import Cancelled, NotNow, PlayerError
from worker.players.models import answers
from worker.players.models.adapter import Adapter, Question, Reply, guessed_tokens, guessed_usage
from worker.players.models.answers import SPOKEN_FIELD, ProposersMove, Ruling, UnusableAnswer
from worker.players.models.deltas import Deltas
from worker.players.models.judging import thought_of
from worker.players.models.local import LocalModel
from worker.players.models.loop import ModelLoop
from worker.players.models.prompting import instructions
from worker.players.models.slots import Slots
from worker.players.models.transcript import document

log = structlog.get_logger(__name__)

MAX_TOKENS = 4_096
"""Of an answer, where the seat says nothing: what a model thinks to itself counts too."""
CONTEXT_TOKENS = 16_000
LOCAL_MAX_TOKENS = 300
LOCAL_CONTEXT_TOKENS = 2_000
_ASK_AGAIN_SECONDS = 300.0
"""How often a debate that waits for the day's limit looks whether it was raised."""
_SOON_SECONDS = 3.0


class ModelPlayer:
    def __init__(self, services: Services, worker_id: str, providers: ProviderSettings) -> None:
        self._services = services
        self._adapter = Adapter(providers, services.settings.model_timeout_seconds)
        self._deltas = Deltas(services.teller.publish)
        self._slots = Slots(lambda *what: model_calls.share_slots(services, what[0], worker_id, *what[1:]))
        self._local = LocalModel()
        self._loop = ModelLoop()

    def think(self, brief: Brief, cancelled: threading.Event) -> Thought:
        if cancelled.is_set():
            raise Cancelled
        return self._loop.run(self._take_turn(brief), cancelled)

    def close(self) -> None:
        self._loop.run(self._slots.close(), threading.Event())
        self._loop.close()
        self._local.close()

    async def _take_turn(self, brief: Brief) -> Thought:
        if brief.seat is Seat.ARBITRATOR:
            return await self._rule(brief)
        chooses = brief.seat is Seat.PROPOSER and brief.debate.format is Format.DIALOGUE
        question = _question(brief, ProposersMove if chooses else None)
        reply = await self._ask(brief, question)
        if chooses:
            move = _read(question, reply, partial(answers.read, shape=ProposersMove))
            return Thought(move.type, move.text.strip(), usage=reply.usage)
        return Thought(TurnType.CLAIM, _read(question, reply, answers.read_text), usage=reply.usage)

    async def _rule(self, brief: Brief) -> Thought:
        order = JudgeOrder(brief.setup.judge_order or JudgeOrder.AS_SPOKEN)
        orders = [JudgeOrder.AS_SPOKEN, JudgeOrder.SWAPPED] if order is JudgeOrder.BOTH else [order]
        rulings: dict[str, Ruling] = {}
        used = Usage()
        for each in orders:
            _refuse_beyond_limits(brief, used)
            question = _question(brief, Ruling, each)
            try:
                reply = await self._ask(brief, question, silent=bool(rulings))
                rulings[each] = _read(question, reply, partial(answers.read, shape=Ruling))
                used = used.plus(reply.usage)
            except (PlayerError, NotNow) as problem:
                # The first answer was paid for even if the second never comes.
                problem.usage = used.plus(problem.usage) if problem.usage else used
                raise
        return thought_of(rulings, used)

    async def _ask(self, brief: Brief, question: Question, silent: bool = False) -> Reply:
        """One call: with a slot of its provider, and within the day's limit."""
        spoken = SPOKEN_FIELD[question.shape] if question.shape else None
        tell = _nothing if silent else self._deltas.of(brief, spoken)
        if question.player == LOCAL:
            async with self._local.ready() as base_url:
                return await self._adapter.ask(question, tell, base_url)
        provider, _ = model_of(question.player) or ("", "")
        async with self._slots.one_of(provider):
            reservation = await self._reserve(question)
            heard: list[str] = []
            spent = 0.0
            try:
                reply = await self._adapter.ask(question, _both(heard.append, tell))
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
                if reservation:
                    await asyncio.shield(self._write_down(model_calls.settle, reservation, spent))

    async def _write_down(self, action: Callable[..., Any], *what: Any) -> None:
        """An answer that was paid for is not lost because this could not be written down: the reservation stays."""
        try:
            await _in_thread(action, self._services, *what)
        except DatabaseAway as problem:
            log.warning("model_call.not_written_down", problem=str(problem.__cause__ or problem))

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


def _question(brief: Brief, shape: Any, order: JudgeOrder = JudgeOrder.AS_SPOKEN) -> Question:
    setup = brief.setup
    is_local = setup.player == LOCAL
    max_tokens = setup.max_tokens or (LOCAL_MAX_TOKENS if is_local else MAX_TOKENS)
    return Question(
        setup.player,
        instructions(brief, max_tokens),
        document(brief, LOCAL_CONTEXT_TOKENS if is_local else CONTEXT_TOKENS, order),
        shape,
        max_tokens,
        setup.temperature,
    )


def _read(question: Question, reply: Reply, reader: Callable[[str], Any]) -> Any:
    try:
        return reader(reply.text)
    except UnusableAnswer as problem:
        why = f" (max_tokens, {question.max_tokens}, was used up)" if reply.cut_off else ""
        words = f"{question.player}: the answer cannot be used: {problem}{why}."
        raise PlayerError(words, kind="answer", usage=reply.usage) from None


def _refuse_beyond_limits(brief: Brief, used: Usage) -> None:
    """Before each call. The claim has looked already; a judge who is asked twice is looked at twice."""
    debate = brief.debate
    if limit_reached(debate.cursor, debate.limits, debate.usage.plus(used), debate.past_deadline):
        raise PlayerError("A limit was reached between two calls for one ruling.", kind="limit", usage=used)


def _not_now(refused: Refused, limit: float) -> NotNow:
    spread = random.SystemRandom().uniform(0.5, 1.0)
    if not refused.is_spent:
        words = f"Waiting for calls under way: with them the limit of ${limit:g} for a day is reached."
        return NotNow(words, _SOON_SECONDS * spread)
    words = (
        f"The limit of ${limit:g} that this server may spend on models in a day (UTC) is reached. Waiting for the next."
    )
    return NotNow(words, min(_ASK_AGAIN_SECONDS * spread, refused.seconds_left + _SOON_SECONDS * spread))


def _nothing(_: str) -> None:
    """Nobody is told."""


def _both(first: Callable[[str], None], second: Callable[[str], None]) -> Callable[[str], None]:
    def hear(piece: str) -> None:
        first(piece)
        second(piece)

    return hear


async def _in_thread(action: Callable[..., Any], *what: Any) -> Any:
    """For a short transaction: the loop must not wait for the database."""
    return await asyncio.get_running_loop().run_in_executor(None, action, *what)
