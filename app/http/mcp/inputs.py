"""The inputs of the tools. Models read the descriptions: each says in one line what to send."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from app.core.debate import Status
from app.http.requests import DebateType, Number, Request, ScoresBody, Searched
from app.wire.debates import Role, Winner

LONGEST_WAIT_SECONDS = 45.0
"""Clients give up after 60 seconds, and a response under load takes a moment."""
RequestId = Annotated[
    str | None, Field(description="An idempotency key: any text. Repeat a call with the same one after a timeout")
]
WINNER = "If the debate has answers: the side whose answer is correct"
Confidence = Annotated[
    Number | None,
    Field(
        ge=0,
        le=1,
        description="The probability that the winner is right, or that its answer is correct if the debate has answers",
    ),
]


class ListDebates(Request):
    status: Status | None = Field(None, description="Only debates with this status")
    q: Searched = Field(None, description="A part of the title")
    limit: int = Field(20, ge=1, le=100)


class OpenSeats(Request):
    role: Role | None = Field(None, description="Only this seat")


class CreateDebate(Request):
    motion: str = Field(description="The statement to debate, or the plan to examine")
    title: str | None = Field(None, max_length=200, description="Default: the beginning of the motion")
    debate_type: DebateType = "general_debate"
    format: str = Field("dialogue", description="dialogue, rounds, final_ruling, interactive or consultancy")
    seats: dict[str, Any] | None = Field(
        None,
        description='Who fills each seat, for example {"proposer": "external", "opponent": "scripted"}. external: an'
        " agent or a person, such as you",
    )
    max_rounds: int | None = Field(None, ge=1, le=10_000)
    client_request_id: RequestId = None


class OfDebate(Request):
    debate_id: UUID = Field(description="The debate's id")


class OfSeat(OfDebate):
    role: Role = Field(description="The seat")


class WaitForTurn(OfDebate):
    role: Role = Field(description="Your seat")
    after_seq: int = Field(0, ge=0, le=2**31 - 1, description="The `seq` of the last response; 0 returns everything")
    max_seconds: Number = Field(30, ge=0, le=LONGEST_WAIT_SECONDS, description="The maximum time to wait")


class MoveInput(OfDebate):
    content: str = Field(description="Your text, as Markdown")
    client_request_id: RequestId = None


class Argue(MoveInput):
    role: Literal["proposer", "opponent"] = Field(description="Your seat")


class RulingInput(MoveInput):
    close: bool = Field(False, description="This ruling closes the debate")
    winner: Winner | None = Field(None, description=f"Your verdict, with scores. {WINNER}")
    scores: ScoresBody | None = Field(None, description="0 to 10 for each side; the winner has the higher one")
    reasoning: str | None = Field(None, description="Your reasons. Default: the content")
    confidence: Confidence = None


class TranscriptInput(OfDebate):
    after_seq: int = Field(0, ge=0, le=2**31 - 1, description="Only arguments after this `seq`")


class JudgmentInput(OfDebate):
    winner: Winner = Field(description=WINNER)
    scores: ScoresBody | None = Field(None, description="0 to 10 for each side; the winner has the higher one")
    reasoning: str = Field(description="Your reasons")
    confidence: Confidence = None


class Stop(OfDebate):
    reason: str | None = Field(None, description="Shown with the debate")
