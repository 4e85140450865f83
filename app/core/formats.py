"""The rules of order, as data. A format is a row of facts; the machine reads the facts and never a format's name."""

from dataclasses import dataclass
from enum import Enum, StrEnum

from app.core.seats import Seat

DEFAULT_ROUNDS = 3
DEFAULT_DIALOGUE_ROUNDS = 20
"""Two models can agree to disagree for ever; a person can stop by leaving."""


class Format(StrEnum):
    ROUNDS = "rounds"
    DIALOGUE = "dialogue"
    FINAL_RULING = "final_ruling"
    SIMULTANEOUS = "simultaneous"
    INTERACTIVE = "interactive"
    CONSULTANCY = "consultancy"
    DIRECT = "direct"

    @property
    def facts(self) -> "FormatFacts":
        return _FACTS[self]


class JudgeActs(Enum):
    """When the judge has its turn."""

    EVERY_ROUND = "rules after every round"
    WHEN_CALLED = "rules when called: by an appeal, a resolution or an intervention"
    AT_THE_END = "rules once, after the last round"
    ASKS = "asks a question after each round but the last, then rules"


@dataclass(frozen=True, slots=True)
class FormatFacts:
    debaters: tuple[Seat, ...]
    """Who speaks in a round, in this order."""
    judge: JudgeActs
    motion_is_first_turn: bool = False
    """Then the motion is turn (1, debater_a); otherwise it stands before the first round as (0, debater_a)."""
    hides_the_round: bool = False
    """A debater is not shown what the other says in the same round. Only for workers' players: external
    readers see every turn."""
    ruling_on_intervention_has_a_round: bool = False
    """It takes the judge's place in the round, and the next round begins. Otherwise the ruling stands outside the order
    of speaking like the intervention, and the interrupted turn goes on."""
    external_by_default: bool = False
    """Who fills a seat that the creator of the debate says nothing about: somebody outside, or the default player."""
    default_rounds: int | None = DEFAULT_ROUNDS
    people_may_go_on: bool = False
    """No limit of rounds by default where somebody outside debates."""

    @property
    def has_rounds(self) -> bool:
        return bool(self.debaters)


_BOTH = (Seat.PROPOSER, Seat.OPPONENT)
_FACTS = {
    Format.ROUNDS: FormatFacts(_BOTH, JudgeActs.EVERY_ROUND),
    Format.DIALOGUE: FormatFacts(
        _BOTH,
        JudgeActs.WHEN_CALLED,
        motion_is_first_turn=True,
        ruling_on_intervention_has_a_round=True,
        external_by_default=True,
        default_rounds=DEFAULT_DIALOGUE_ROUNDS,
        people_may_go_on=True,
    ),
    Format.FINAL_RULING: FormatFacts(_BOTH, JudgeActs.AT_THE_END),
    Format.SIMULTANEOUS: FormatFacts(_BOTH, JudgeActs.AT_THE_END, hides_the_round=True),
    Format.INTERACTIVE: FormatFacts(_BOTH, JudgeActs.ASKS),
    Format.CONSULTANCY: FormatFacts((Seat.PROPOSER,), JudgeActs.ASKS),
    Format.DIRECT: FormatFacts((), JudgeActs.AT_THE_END, default_rounds=None),
}
