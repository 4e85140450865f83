"""The seats of a debate in responses, for the OpenAPI document. An option that was not set is absent."""

from typing import Literal

from pydantic import Field

from app.core.players import JudgeOrder, Thinking
from app.wire.shape import Shape


class TakeoverShape(Shape):
    takeover: str = Field(description="The player that takes an overdue turn")


class SeatShape(Shape):
    player: str
    persona: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    think_seconds: float | None = None
    early_stop: bool = False
    agent_id: str | None = Field(None, description="The agent that the seat is bound to")
    judge_order: JudgeOrder | None = None
    thinking: Thinking | None = None
    skill: float | None = None
    position_bias: float | None = None
    noise: float | None = None
    deadline_seconds: float | None = None
    on_timeout: Literal["stop", "forfeit"] | TakeoverShape | None = None
    held_by: str | None = Field(None, description="The holder of the seat: an agent's ID, or operator")
    held_by_name: str | None = None


class SeatsShape(Shape):
    proposer: SeatShape | None = Field(None, description="Absent, like the opponent, if the format has no such seat")
    opponent: SeatShape | None = None
    arbitrator: SeatShape | None = None
