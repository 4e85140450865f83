"""Models as players: makes a question of a brief, and a turn of the answer."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pydantic import BaseModel

from app.core.brief import Brief, Exchange, Thought
from app.core.debate import TurnType, Usage
from app.core.limits import limit_reached
from app.core.model_calls import answer_tokens
from app.core.players import JudgeOrder
from app.core.retry import NotNow, PlayerError
from app.messaging.bus import Event
from app.models.table import shown_tokens
from app.usecases.advance import with_all_turns
from app.usecases.prompt_sets import prompt_set_of_hash
from worker.players.models import answers
from worker.players.models.adapter import Question, Reply
from worker.players.models.answers import SPOKEN_FIELD, AnswerRuling, ProposersMove, Ruling, thought_of
from worker.players.models.calls import ModelCalls, nothing, read_answer
from worker.players.models.deltas import Deltas
from worker.players.models.prompt import Prompts, built_in, document, instructions, prompts_of, task

_MOST_PROMPTS = 100


class ModelPlayer:
    def __init__(self, calls: ModelCalls, publish: Callable[[Event], None]) -> None:
        self._calls = calls
        self._deltas = Deltas(publish)
        self._prompts: dict[str, Prompts] = {}
        """By hash: a set never changes."""

    async def think(self, brief: Brief) -> Thought:
        if brief.rules:
            return await self._rule(brief)
        chooses = brief.may_choose_its_move
        question, reply = await self._ask(brief, ProposersMove if chooses else None)
        if chooses:
            move = read_answer(question, reply, partial(answers.read, shape=ProposersMove))
            kind, said = move.type, move.text.strip()
        else:
            kind = TurnType.QUESTION if brief.asks else TurnType.CLAIM
            said = read_answer(question, reply, answers.read_text)
        return _made(Thought(kind, said, usage=reply.usage), question, exchange_of(question, reply))

    async def _rule(self, brief: Brief) -> Thought:
        order = JudgeOrder(brief.setup.judge_order or JudgeOrder.AS_SPOKEN)
        orders = order.asked(brief.debate.has_two_orders)
        rulings: dict[str, Ruling] = {}
        exchanges: list[Exchange] = []
        question: Question | None = None
        used = Usage()
        for each in orders:
            try:
                question, reply = await self._ask(brief, Ruling, each, used, silent=bool(rulings))
                rulings[each] = read_answer(
                    question, reply, partial(answers.read_ruling, order=each, shape=question.shape)
                )
                latency_ms = (used.latency_ms or 0) + (reply.usage.latency_ms or 0)
                used = used.plus(reply.usage).with_latency(latency_ms)
                exchanges.append(exchange_of(question, reply, each if len(orders) > 1 else None))
            except (PlayerError, NotNow) as problem:
                # The first answer was paid for even if the second never comes.
                problem.usage = used.plus(problem.usage) if problem.usage else used
                raise
            except asyncio.CancelledError:
                if question:
                    await self._calls.charge(question, used)
                raise
        return _made(thought_of(rulings, used), question, *exchanges)

    async def _ask(
        self,
        brief: Brief,
        shape: type[BaseModel] | None,
        order: JudgeOrder = JudgeOrder.AS_SPOKEN,
        used: Usage | None = None,
        silent: bool = False,
    ) -> tuple[Question, Reply]:
        _refuse_beyond_limits(brief, used or Usage())
        spoken = SPOKEN_FIELD[shape] if shape else None
        hear = nothing if silent or brief.judgment else self._deltas.of(brief, spoken)
        prepare = partial(self._question, brief, shape, order)
        return await self._calls.ask(brief.setup.player, prepare, hear, behind=brief.debate.experiment_id is not None)

    async def _question(self, brief: Brief, shape: type[BaseModel] | None, order: JudgeOrder) -> Question:
        setup = brief.setup
        services = self._calls.services
        max_tokens = answer_tokens(setup)
        brief = await asyncio.to_thread(with_all_turns, services, brief)
        prompts = await self._prompts_of(brief)
        system, last = instructions(brief, prompts), f"\n\n{task(brief, max_tokens, prompts)}"
        room = shown_tokens(setup, services.settings.context_tokens, len((system + last).encode()))
        shown = document(brief, room, order)
        if shape is Ruling and brief.debate.answers:
            shape = AnswerRuling
        return Question(
            setup.player,
            system,
            (*shown.parts[:-1], shown.parts[-1] + last),
            shape,
            max_tokens,
            setup.temperature,
            None if brief.judgment else brief.debate.id,
            shown.is_shortened,
            setup.thinking,
            prompts.hash,
            brief.judgment_id,
            brief.debate.experiment_id,
            document_hash=brief.shown_document_hash,
            kept=shown.kept and shown.kept + last,
            claim=brief.claim,
        )

    async def _prompts_of(self, brief: Brief) -> Prompts:
        wanted = brief.debate.prompts_hash
        if wanted is None:
            return built_in()
        if wanted not in self._prompts:
            stored = await asyncio.to_thread(prompt_set_of_hash, self._calls.services, wanted)
            if stored is None:
                words = f"The prompt set {brief.debate.prompts!r} of this debate is no longer stored."
                raise PlayerError(words, permanent=True, kind="setup")
            if len(self._prompts) >= _MOST_PROMPTS:
                self._prompts.clear()
            self._prompts[wanted] = prompts_of(stored)
        return self._prompts[wanted]


def _made(thought: Thought, question: Question | None, *exchanges: Exchange) -> Thought:
    if question is None:
        return thought
    usage = replace(thought.usage, context_shortened=question.is_shortened)
    return thought.evolve(usage=usage, exchanges=exchanges, prompts_hash=question.prompts_hash)


def exchange_of(question: Question, reply: Reply, order: JudgeOrder | None = None) -> Exchange:
    return Exchange(
        system=question.instructions,
        messages=({"role": "user", "content": question.kept or question.text},),
        document_hash=question.document_hash,
        settings=reply.settings,
        model=reply.model,
        answer=reply.text,
        request_id=reply.request_id,
        judge_order=order,
    )


def _refuse_beyond_limits(brief: Brief, used: Usage) -> None:
    """A judge may be asked twice, and the cost of a canceled call may have been added since the claim."""
    if limit_reached(brief.debate, used):
        raise PlayerError("A limit of the debate was reached before this call.", kind="limit")
