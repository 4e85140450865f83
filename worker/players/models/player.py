"""Real models in the seats: from a brief to a question, from an answer to a move."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from app.bus import Event
from app.core.brief import Brief, Thought
from app.core.debate import TurnType, Usage
from app.core.formats import Format
from app.core.limits import limit_reached
from app.core.players import LOCAL, JudgeOrder
from app.core.seats import Seat
from worker.players.base import NotNow, PlayerError
from worker.players.models import answers
from worker.players.models.adapter import Question, Reply
from worker.players.models.answers import SPOKEN_FIELD, ProposersMove, Ruling
from worker.players.models.calls import ModelCalls, nothing, read_answer, usual_max_tokens
from worker.players.models.deltas import Deltas
from worker.players.models.judging import thought_of
from worker.players.models.prompting import instructions
from worker.players.models.transcript import document

CONTEXT_TOKENS = 16_000
LOCAL_CONTEXT_TOKENS = 2_000


class ModelPlayer:
    def __init__(self, calls: ModelCalls, publish: Callable[[Event], None]) -> None:
        self._calls = calls
        self._deltas = Deltas(publish)

    def think(self, brief: Brief, cancelled: threading.Event) -> Thought:
        return self._calls.run(self._take_turn(brief), cancelled)

    async def _take_turn(self, brief: Brief) -> Thought:
        if brief.seat is Seat.ARBITRATOR:
            return await self._rule(brief)
        chooses = brief.seat is Seat.PROPOSER and brief.debate.format is Format.DIALOGUE
        question = _question(brief, ProposersMove if chooses else None)
        reply = await self._ask(brief, question)
        if chooses:
            move = read_answer(question, reply, partial(answers.read, shape=ProposersMove))
            return Thought(move.type, move.text.strip(), usage=reply.usage)
        return Thought(TurnType.CLAIM, read_answer(question, reply, answers.read_text), usage=reply.usage)

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
                rulings[each] = read_answer(question, reply, partial(answers.read, shape=Ruling))
                used = used.plus(reply.usage)
            except (PlayerError, NotNow) as problem:
                # The first answer was paid for even if the second never comes.
                problem.usage = used.plus(problem.usage) if problem.usage else used
                raise
        return thought_of(rulings, used)

    async def _ask(self, brief: Brief, question: Question, silent: bool = False) -> Reply:
        spoken = SPOKEN_FIELD[question.shape] if question.shape else None
        return await self._calls.ask(question, nothing if silent else self._deltas.of(brief, spoken))


def _question(brief: Brief, shape: Any, order: JudgeOrder = JudgeOrder.AS_SPOKEN) -> Question:
    setup = brief.setup
    is_local = setup.player == LOCAL
    max_tokens = setup.max_tokens or usual_max_tokens(setup.player)
    return Question(
        setup.player,
        instructions(brief, max_tokens),
        document(brief, LOCAL_CONTEXT_TOKENS if is_local else CONTEXT_TOKENS, order),
        shape,
        max_tokens,
        setup.temperature,
    )


def _refuse_beyond_limits(brief: Brief, used: Usage) -> None:
    """Before each call. The claim has looked already; a judge who is asked twice is looked at twice."""
    debate = brief.debate
    if limit_reached(debate.cursor, debate.limits, debate.usage.plus(used), debate.past_deadline):
        raise PlayerError("A limit was reached between two calls for one ruling.", kind="limit", usage=used)
