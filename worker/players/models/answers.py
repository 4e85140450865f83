"""The moves that a model can make, as structures that are checked before anything is stored."""

from typing import Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from app.core.debate import TurnType


class ProposersMove(BaseModel):
    """The proposer of a dialogue chooses what to do."""

    move: Literal["claim", "appeal", "resolution"]
    text: str = Field(min_length=1)

    @property
    def type(self) -> TurnType:
        return TurnType[self.move.upper()]


class Scores(BaseModel):
    proposer: float = Field(ge=0, le=10)
    opponent: float = Field(ge=0, le=10)


class Ruling(BaseModel):
    """The reasoning comes first: a model that has explained itself scores better than one that explains its score."""

    reasoning: str = Field(min_length=1)
    scores: Scores
    winner: Literal["proposer", "opponent", "tie"]
    stop: bool

    @model_validator(mode="after")
    def _the_winner_is_not_behind(self) -> Self:
        lead = self.scores.proposer - self.scores.opponent
        if (self.winner == "proposer" and lead < 0) or (self.winner == "opponent" and lead > 0):
            raise ValueError("the winner has the lower score")
        return self


SPOKEN_FIELD: dict[type[BaseModel], str] = {ProposersMove: "text", Ruling: "reasoning"}
"""Which field of a structure watchers see while it is being written."""


Shape = TypeVar("Shape", bound=BaseModel)


class UnusableAnswer(Exception):
    """The answer does not have the shape that was asked for. The message holds nothing of the answer."""


def read(text: str, shape: type[Shape]) -> Shape:
    """Some models put their JSON into a fence or a sentence: what is between the braces counts."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise UnusableAnswer("it is empty" if not text.strip() else "it is not a JSON object")
    try:
        answer = shape.model_validate_json(text[start : end + 1])
    except ValidationError as problems:
        first = problems.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        words = first["msg"].removeprefix("Value error, ")
        raise UnusableAnswer(f"{where}: {words}" if where else words) from None
    spoken = SPOKEN_FIELD.get(shape)
    if spoken and not getattr(answer, spoken).strip():
        raise UnusableAnswer(f"{spoken}: is only blanks")
    return answer


def read_text(text: str) -> str:
    if not text.strip():
        raise UnusableAnswer("it is empty")
    return text.strip()
