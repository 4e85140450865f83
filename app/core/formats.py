"""The rules of order. A format is two facts and nothing more."""

from dataclasses import dataclass
from enum import StrEnum


class Format(StrEnum):
    ROUNDS = "rounds"
    DIALOGUE = "dialogue"

    @property
    def facts(self) -> "FormatFacts":
        return _FACTS[self]


@dataclass(frozen=True, slots=True)
class FormatFacts:
    judge_sits_every_round: bool
    """Otherwise the judge speaks only when called: by an appeal, a resolution or an intervention."""
    motion_is_first_turn: bool
    """Then the motion is turn (1, debater_a); otherwise it stands before the first round as (0, debater_a)."""


_FACTS = {
    Format.ROUNDS: FormatFacts(judge_sits_every_round=True, motion_is_first_turn=False),
    Format.DIALOGUE: FormatFacts(judge_sits_every_round=False, motion_is_first_turn=True),
}
