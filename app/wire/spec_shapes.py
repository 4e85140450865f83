"""A spec for the OpenAPI document. `app.core.experiments` checks it, and says what is wrong with one."""

from typing import Annotated, Any, Literal

from pydantic import Field

from app.core.experiments.spec import LONGEST_NAME, MOST_CONCURRENCY, MOST_CONTESTANTS
from app.core.players import JudgeOrder, Thinking
from app.wire.shape import Shape

Seats = list[Literal["proposer", "opponent", "arbitrator"]]


def optional(value: Any = None, **about: Any) -> Any:
    """A field that may be absent. The document states no default: generated clients send defaults, and whether an
    option is given makes a difference."""
    return Field(default_factory=lambda: value, **about)


class SpecPlayerShape(Shape):
    name: str = optional("", min_length=1, max_length=LONGEST_NAME, description="Default: the player's name")
    player: str = Field(min_length=1, max_length=200, examples=["openai:gpt-5-mini"])
    persona: str | None = optional()
    temperature: float | None = optional(ge=0, description="Models only")
    max_tokens: int = optional(1, ge=1, le=1_000_000, description="Models only: for a response")
    thinking: Thinking | None = optional(description="Models only")
    think_seconds: float | None = optional(ge=0, description="scripted only")


class ContestantShape(SpecPlayerShape):
    skill: float | None = optional(description="scripted only: its strength on the logit scale")


class SpecJudgeShape(SpecPlayerShape):
    orders: JudgeOrder = optional(JudgeOrder.AS_SPOKEN, description="Default: as_spoken")
    repeats: int = optional(1, ge=1, le=100)
    beliefs: bool = optional(False, description="Also judge before any speech and after each round. Default: false")
    position_bias: float | None = optional(description="scripted only")
    noise: float | None = optional(ge=0, le=1, description="scripted only")


class AgainstShape(Shape):
    against: str


class ArmRulesShape(Shape):
    format: str = optional("final_ruling", description="Default: final_ruling; dialogue is not allowed")
    rounds: int = optional(1, ge=1, le=100, description="Default: 3; not allowed if the format has no rounds")
    prompts: str | None = optional(description="The name of a prompt set. Default: the built-in set")
    language: str | None = optional()
    document_visible_to: Seats | None = optional(description="Default: both debaters")


class SpecShape(ArmRulesShape):
    """With arms, format and rounds are theirs, and prompts, language and document_visible_to are the defaults of the
    arms."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    contestants: list[ContestantShape] = optional([], max_length=MOST_CONTESTANTS)
    pairing: Literal["round_robin"] | AgainstShape | list[Annotated[list[str], Field(min_length=2, max_length=2)]] = (
        optional([], description="Default: round_robin")
    )
    swap_sides: bool = optional(True, description="Default: true")
    repeats: int = optional(1, ge=1, le=1000, description="Default: 1")
    arms: dict[str, ArmRulesShape] = optional({}, description="The rules of each arm by its name")
    judges: list[SpecJudgeShape] = optional([])
    budget_usd: float | None = optional(gt=0)
    concurrency: int = optional(1, ge=1, le=MOST_CONCURRENCY, description="Default: 50")
    seed: int = optional(0, ge=0, le=2**31 - 1)
    contrasts: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = optional(
        [], description="Pairs of arms to compare, the first less the second. Default: each two"
    )


class SpecMotionShape(Shape):
    id: str | int
    motion: str = Field(min_length=1)
    title: str | None = optional()
    document: str | None = optional()
    answer_a: str | None = optional()
    answer_b: str | None = optional()
    correct: Literal["a", "b"] | None = optional()
    tags: list[str] | None = optional()


class GivenSpecShape(SpecShape):
    motions: list[str | SpecMotionShape] | None = optional()
