"""Judgments of a single debate: made by a worker's judge, or sent by a person or an agent."""

from typing import Annotated, Self
from uuid import UUID

from flask import Response
from pydantic import Field, StrictBool, StrictInt, model_validator

from app.core.access import Action
from app.core.judgments import MOST_REPEATS, Judge, Judgment
from app.core.limits import MOST_ROUNDS
from app.core.players import EXTERNAL, JudgeOrder
from app.core.verdicts import NO_REASONS, Verdict, scores_for
from app.http.access import current_caller
from app.http.answers import answer_of, success
from app.http.blueprint import Blueprint, api_blueprint
from app.http.requests import Number, Request, ScoresBody, SeatBody, with_examples
from app.usecases import judgments
from app.usecases.services import Services
from app.wire.debates import OneOrder, Winner, calls_json
from app.wire.experiments import JudgmentExchangeShape, JudgmentShape

_NOT_OF_A_JUDGE = ("early_stop", "agent_id", "judge_order", "skill")


class OpinionBody(Request):
    winner: Winner
    scores: ScoresBody | None = Field(None, description="Default: 6 to 4 for the winner, or 5 each for a tie")
    reasoning: str = Field(NO_REASONS, min_length=1)
    confidence: Number | None = Field(None, ge=0, le=1)

    def verdict(self) -> Verdict:
        scores = self.scores.model_dump() if self.scores else scores_for(self.winner)
        return Verdict(self.winner, scores, self.reasoning, confidence=self.confidence)


class JudgmentBody(SeatBody):
    model_config = with_examples(
        {"player": "scripted", "orders": "both"},
        {"judge": "big", "player": "openai:gpt-5", "orders": "both", "repeats": 2},
        {"player": "openai:gpt-5", "beliefs": True},
        {"judge": "ana", "verdict": {"winner": "opponent", "confidence": 0.7}, "order": "swapped"},
    )

    player: str = Field("", max_length=200, description="The worker's player that judges; absent with your own verdict")
    judge: str | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="The judge's name. Default: the player's name. With your own verdict: the person's name",
    )
    orders: JudgeOrder = Field(JudgeOrder.AS_SPOKEN, description="The order in which the judge sees the two sides")
    repeats: Annotated[StrictInt, Field(ge=1, le=MOST_REPEATS)] = Field(
        1, description="The number of judgments in each order"
    )
    through_round: Annotated[StrictInt, Field(ge=0, le=MOST_ROUNDS)] | None = Field(
        None, description="Judge the debate up to this round: 0 is before any speech. Default: the whole debate"
    )
    beliefs: StrictBool = Field(
        False, description="Judge the debate before any speech, after each round, and as a whole"
    )
    verdict: OpinionBody | None = Field(None, description="Your own verdict, instead of a player")
    order: OneOrder = Field("as_spoken", description="With your own verdict: the order in which you saw the sides")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if bool(self.player) == (self.verdict is not None):
            raise ValueError("either player (a worker judges) or verdict (you judge) is required, and not both")
        misfits = [name for name in _NOT_OF_A_JUDGE if getattr(self, name) not in (None, False)]
        if self.player == EXTERNAL:
            raise ValueError("player must be a worker's player; to judge yourself, send a verdict")
        if misfits:
            raise ValueError(f"{misfits[0]} is not an option of a judge")
        if self.beliefs and self.verdict is not None:
            raise ValueError("beliefs is an option of a worker's judge; send each verdict with its through_round")
        if self.beliefs and self.through_round is not None:
            raise ValueError("beliefs cannot be combined with through_round: it covers every round")
        return self

    def worker_judge(self) -> Judge:
        given = self.model_dump(include=set(SeatBody.model_fields))
        return Judge(
            self.judge or self.player,
            SeatBody(**given).setup(),
            self.orders,
            self.repeats,
            self.beliefs,
            self.through_round,
        )


JudgmentsAnswer = answer_of("Judgments", judgments=list[JudgmentShape])
JudgmentExchangeAnswer = answer_of("JudgmentExchange", exchange=JudgmentExchangeShape)


def judgments_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("judgments", "Judgments of closed debates, stored separately from the debates")

    @api.view("POST /debates/<debate_id>/judgments", JudgmentsAnswer, 201, 200, 409, takes=Action.JUDGE, spends=True)
    def judge(debate_id: UUID, body: JudgmentBody) -> tuple[Response, int]:
        """Request judgments of a closed debate from a worker, or submit one"""
        caller = current_caller()
        if body.verdict is not None:
            order = JudgeOrder(body.order)
            given, is_new = judgments.give(
                services, caller, debate_id, body.judge, order, body.verdict.verdict(), body.through_round
            )
            found = [given]
        else:
            asked = judgments.ask(services, caller, debate_id, body.worker_judge())
            found, is_new = asked.judgments, bool(asked.new)
        return success({"judgments": [JudgmentShape.of(one) for one in found]}, 201 if is_new else 200)

    @api.view("GET /debates/<debate_id>/judgments", JudgmentsAnswer)
    def of_debate(debate_id: UUID) -> dict[str, list[Judgment]]:
        """List the judgments of a debate, oldest first"""
        return {"judgments": judgments.of_debate(services, debate_id)}

    @api.view("GET /debates/<debate_id>/judgments/<judgment_id>/exchange", JudgmentExchangeAnswer)
    def exchange(debate_id: UUID, judgment_id: UUID) -> tuple[Response, int]:
        """Read the prompts that a judge received, and its responses"""
        judgment, calls = judgments.get_exchanges(services, current_caller(), debate_id, judgment_id)
        return success({"exchange": JudgmentExchangeShape.of(judgment, calls=calls_json(calls))})

    return api
