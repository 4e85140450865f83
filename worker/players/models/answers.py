"""Models' answers: the shapes they must have, how they are parsed, and the verdict of a judge asked in both orders."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from app.core.brief import Thought
from app.core.debate import TurnType, Usage
from app.core.players import JudgeOrder
from app.core.texts import storable_text
from app.core.verdicts import SIDES, Verdict, sides_shown, why_contradictory
from app.words.judgments import ORDERS
from worker.players.models.prompt import LETTERS

Words = Annotated[str, Field(min_length=1), AfterValidator(storable_text)]
Score = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


class Answer(BaseModel):
    """Strict: a score as text, or a yes that is not a boolean, is refused."""

    model_config = ConfigDict(strict=True)


class ProposersMove(Answer):
    move: Literal["claim", "appeal", "resolution"]
    text: Words

    @property
    def type(self) -> TurnType:
        return TurnType[self.move.upper()]


class Scores(Answer):
    proposer: Score
    opponent: Score


class Ruling(Answer):
    """The reasoning comes first: a model that reasons before it scores judges better."""

    reasoning: Words
    scores: Scores
    winner: Literal["proposer", "opponent", "tie"]
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    stop: bool

    @model_validator(mode="after")
    def _winner_and_scores_agree(self) -> Self:
        problem = why_contradictory(Verdict(self.winner, self.scores.model_dump(), self.reasoning))
        if problem:
            raise ValueError(problem)
        return self


class AnswerRuling(Answer):
    """Which of two answers is correct. No scores are asked for: they follow from the probability."""

    reasoning: Words
    answer: Literal["A", "B"]
    probability: Annotated[float, Field(ge=0.5, le=1, allow_inf_nan=False)]
    stop: bool

    def as_ruling(self, order: JudgeOrder) -> Ruling:
        """For the side that defends the answer which this order has shown under the letter."""
        sides = sides_shown(order)
        winner = sides[LETTERS.index(self.answer)]
        sure = max(self.probability, LEAST_SURE)
        points = {side: 10 * (sure if side == winner else 1 - sure) for side in SIDES}
        reasoning = self.reasoning.strip()
        if order is JudgeOrder.SWAPPED:
            reasoning += f"\n\n(The judge saw the {sides[0]}'s answer as A and the {sides[1]}'s as B.)"
        said = {"reasoning": reasoning, "scores": points, "winner": winner}
        return Ruling.model_validate({**said, "confidence": self.probability, "stop": self.stop})


LEAST_SURE = 0.501
"""A guess names an answer too, and a winner has the higher score."""
SPOKEN_FIELD: dict[type[BaseModel], str] = {ProposersMove: "text", Ruling: "reasoning", AnswerRuling: "reasoning"}


Shape = TypeVar("Shape", bound=BaseModel)


class UnusableAnswer(Exception):
    """The answer does not have the shape that was asked for. The message holds nothing of the answer."""


def read(text: str, shape: type[Shape]) -> Shape:
    """Some models wrap their JSON in a code fence or a sentence: only the text between the braces counts."""
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


def read_ruling(text: str, shape: type[BaseModel] | None, order: JudgeOrder) -> Ruling:
    if shape is AnswerRuling:
        return read(text, AnswerRuling).as_ruling(order)
    return read(text, Ruling)


def read_text(text: str) -> str:
    if not text.strip():
        raise UnusableAnswer("it is empty")
    return text.strip()


def thought_of(rulings: Mapping[str, Ruling], used: Usage) -> Thought:
    verdict = _verdict(rulings)
    return Thought(TurnType.RULING, verdict.reasoning, verdict, close=verdict.stop, usage=used)


def _verdict(rulings: Mapping[str, Ruling]) -> Verdict:
    """Where both orders name the same winner: that winner and the mean of the scores. Otherwise the order decided, not
    the debate: a tie."""
    first = next(iter(rulings.values()))
    count = len(rulings)
    # Not rounded: two scores that differ must not become equal.
    scores = {side: sum(getattr(each.scores, side) for each in rulings.values()) / count for side in SIDES}
    said = [each.confidence for each in rulings.values() if each.confidence is not None]
    confidence = sum(said) / len(said) if said else None
    if len({each.winner for each in rulings.values()}) == 1:
        stop = all(each.stop for each in rulings.values())
        return Verdict(first.winner, scores, first.reasoning.strip(), stop, confidence=confidence)
    orders = {
        order: {"winner": each.winner, "scores": {side: getattr(each.scores, side) for side in SIDES}}
        for order, each in rulings.items()
    }
    return Verdict("tie", scores, _both_reasons(rulings), stop=False, orders=orders, confidence=confidence)


def _both_reasons(rulings: Mapping[str, Ruling]) -> str:
    read = {ORDERS[JudgeOrder(order)]: each for order, each in rulings.items()}
    named = ", ".join(f"{order}: {each.winner}" for order, each in read.items())
    opening = f"Shown the two sides in both orders, the judge named different winners ({named}): a tie."
    return "\n\n".join([opening, *(f"Read {order}: {each.reasoning.strip()}" for order, each in read.items())])
