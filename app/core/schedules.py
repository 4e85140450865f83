"""The rules of order, as data: a schedule has rounds, and a round has steps. The machine looks up which step follows,
and never asks for a format's name."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from app.core.seats import Seat

Place = tuple[int, Seat]
"""A round's number, and the seat whose step it is."""
DEFAULT_ROUNDS = 3
DEFAULT_OPEN_ENDED_ROUNDS = 20
"""Two models can agree to disagree for ever; a person can stop by leaving."""


class StepKind(StrEnum):
    SPEECH = "speech"
    QUESTION = "question"
    RULING = "ruling"  # the arbitrator's


@dataclass(frozen=True, slots=True)
class RoundStep:
    seat: Seat
    kind: StepKind = StepKind.SPEECH
    words: int | None = None
    """The most words."""


@dataclass(frozen=True)
class Round:
    steps: tuple[RoundStep, ...]
    """Each seat has at most one."""
    name: str | None = None
    simultaneous: bool = False
    """No debater is shown another debater's step of this round. Workers' players only: external readers see every
    turn."""

    @cached_property
    def step_of(self) -> Mapping[Seat, RoundStep]:
        return {step.seat: step for step in self.steps}

    @cached_property
    def following(self) -> Mapping[Seat, Seat]:
        return {step.seat: then.seat for step, then in pairwise(self.steps)}

    @cached_property
    def after_judge(self) -> frozenset[Seat]:
        """Who has a step after the judge's: the judge has acted in this round, and cannot be called in it again."""
        seats = [step.seat for step in self.steps]
        return frozenset(seats[seats.index(Seat.ARBITRATOR) + 1 :] if Seat.ARBITRATOR in seats else ())


@dataclass(frozen=True)
class Schedule:
    name: str
    description: str = ""
    opening: tuple[Round, ...] = ()
    """In this order, each once."""
    repeated: Round | None = None
    """As often as the debate has rounds beyond the others; for ever without a limit of rounds. None: the number of
    rounds is fixed."""
    closing: tuple[Round, ...] = ()
    appeals: bool = True
    """The proposer may appeal, or end the debate in agreement, when it has the turn."""
    motion_is_first_speech: bool = False
    """The motion is turn (1, debater_a). Otherwise it is (0, debater_a), before the first round."""
    intervention_ends_round: bool = False
    """The ruling on an intervention takes the judge's place in the round, and the next round begins. Otherwise it
    is outside the order of speaking like the intervention, and the interrupted turn continues."""

    def __str__(self) -> str:
        return self.name

    def round(self, number: int, rounds: int | None) -> Round:
        """The round of that number in a debate of so many rounds; all later ones equal the last one."""
        if number <= len(self.opening):
            return self.opening[number - 1]
        rounds = self.fixed or rounds
        if rounds is not None and self.closing:
            from_the_end = max(0, rounds - number)
            if from_the_end < len(self.closing):
                return self.closing[-1 - from_the_end]
        return self.repeated or self.opening[-1]

    def step(self, number: int, seat: Seat, rounds: int | None) -> RoundStep | None:
        return self.round(number, rounds).step_of.get(seat)

    def after(self, number: int, seat: Seat, rounds: int | None) -> Place:
        """The place that follows this seat's step in this round: past the last round where the schedule ends. A seat
        without a step in it (a judge that was called) ends the round."""
        following = self.round(number, rounds).following.get(seat)
        if following is not None:
            return number, following
        return number + 1, self.round(number + 1, rounds).steps[0].seat

    def judge_from(self, number: int, seat: Seat, rounds: int | None) -> Place:
        """Where the judge acts when it is called in this place: a seat has one turn in a round."""
        return number + (seat in self.round(number, rounds).after_judge), Seat.ARBITRATOR

    def is_last(self, number: int, rounds: int | None) -> bool:
        """No round follows the one of that number."""
        rounds = self.fixed or rounds
        return rounds is not None and number >= rounds

    def ends_after(self, number: int, seat: Seat, rounds: int | None) -> bool:
        return self.is_last(number, rounds) and seat not in self.round(number, rounds).following

    def everybody_has_spoken(self, number: int, seat: Seat, rounds: int | None) -> bool:
        """Before this place. Whoever was passed over because the proposer appealed in the first round counts."""
        silent = set(self.debaters)
        for each in range(1, number):
            silent -= self.round(each, rounds).step_of.keys()
            if not silent:
                return True
        for step in self.round(number, rounds).steps:
            if step.seat is seat:
                break
            silent.discard(step.seat)
        return not silent

    @property
    def first(self) -> Place:
        """Where a debate begins, after its motion."""
        return 1, self.round(1, None).steps[1 if self.motion_is_first_speech else 0].seat

    @property
    def motion_round(self) -> int:
        return 1 if self.motion_is_first_speech else 0

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        return (*self.opening, *((self.repeated,) if self.repeated else ()), *self.closing)

    @cached_property
    def fixed(self) -> int | None:
        """How many rounds every debate has; None where the debate says it."""
        return None if self.repeated else len(self.rounds)

    @cached_property
    def least_rounds(self) -> int:
        return len(self.opening) + len(self.closing)

    @cached_property
    def debaters(self) -> tuple[Seat, ...]:
        """Who has a turn besides the judge, in the order of their first steps."""
        seats = dict.fromkeys(step.seat for each in self.rounds for step in each.steps)
        return tuple(seat for seat in seats if seat is not Seat.ARBITRATOR)

    @property
    def has_rounds(self) -> bool:
        """It is more than one ruling without a debate."""
        return bool(self.debaters) or self.fixed != 1

    @cached_property
    def judge_is_called(self) -> bool:
        """No step is a ruling: the judge rules after an appeal, a resolution, an intervention or a limit."""
        return not any(step.kind is StepKind.RULING for each in self.rounds for step in each.steps)

    @cached_property
    def rules_once(self) -> bool:
        """The judge has one ruling, the last step."""
        last = self.rounds[-1]
        rulings = [step for each in self.rounds for step in each.steps if step.kind is StepKind.RULING]
        return last is not self.repeated and len(rulings) == 1 and rulings[0] is last.steps[-1]

    @cached_property
    def simultaneous_seats(self) -> frozenset[Seat]:
        """The debaters from whom a round hides what another debater says in it."""
        hiding = (each.step_of.keys() - {Seat.ARBITRATOR} for each in self.rounds if each.simultaneous)
        return frozenset(seat for seats in hiding if len(seats) > 1 for seat in seats)

    @property
    def external_by_default(self) -> bool:
        """Who fills a seat that the creator of the debate says nothing about: a client, where the creator has made
        the first speech; otherwise the default player."""
        return self.motion_is_first_speech

    @property
    def is_open_ended(self) -> bool:
        """No ruling ends it: no limit of rounds by default where a client debates."""
        return self.repeated is not None and not self.closing and self.judge_is_called

    @property
    def default_rounds(self) -> int | None:
        if not self.has_rounds:
            return None
        if self.is_open_ended:
            return max(DEFAULT_OPEN_ENDED_ROUNDS, self.least_rounds + 1)
        return self.fixed or max(DEFAULT_ROUNDS, self.least_rounds + 1)

    def why_not_rounds(self, rounds: int | None) -> str | None:
        """Why a debate cannot be given so many rounds; None if it can."""
        if rounds is None or (self.has_rounds and rounds == self.fixed):
            return None
        if not self.has_rounds:
            return f"a {self.name} debate has no rounds"
        if self.fixed:
            return f"a {self.name} debate has {self.fixed} rounds"
        return None if rounds >= self.least_rounds else f"a {self.name} debate has {self.least_rounds} rounds or more"


_PROPOSER, _OPPONENT = RoundStep(Seat.PROPOSER), RoundStep(Seat.OPPONENT)
_ASKS, _RULES = RoundStep(Seat.ARBITRATOR, StepKind.QUESTION), RoundStep(Seat.ARBITRATOR, StepKind.RULING)
_BOTH, _JUDGED = Round((_PROPOSER, _OPPONENT)), Round((_PROPOSER, _OPPONENT, _RULES))

ROUNDS = Schedule("rounds", "the judge rules after each", repeated=_JUDGED)
DIALOGUE = Schedule(
    "dialogue",
    "the judge rules when called",
    repeated=_BOTH,
    motion_is_first_speech=True,
    intervention_ends_round=True,
)
FINAL_RULING = Schedule("final_ruling", "the judge rules once, at the end", repeated=_BOTH, closing=(_JUDGED,))
SIMULTANEOUS = Schedule(
    "simultaneous",
    "neither side sees the other's turn of the same round",
    repeated=Round(_BOTH.steps, simultaneous=True),
    closing=(Round(_JUDGED.steps, simultaneous=True),),
)
INTERACTIVE = Schedule(
    "interactive",
    "the judge asks between the rounds",
    repeated=Round((_PROPOSER, _OPPONENT, _ASKS)),
    closing=(_JUDGED,),
)
CONSULTANCY = Schedule(
    "consultancy",
    "the proposer argues alone, and the judge asks",
    repeated=Round((_PROPOSER, _ASKS)),
    closing=(Round((_PROPOSER, _RULES)),),
)
DIRECT = Schedule("direct", "nobody argues, the judge rules at once", closing=(Round((_RULES,)),))

BUILT_IN: Mapping[str, Schedule] = {
    schedule.name: schedule
    for schedule in (ROUNDS, DIALOGUE, FINAL_RULING, SIMULTANEOUS, INTERACTIVE, CONSULTANCY, DIRECT)
}
