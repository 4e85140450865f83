"""What the calls of an experiment send: each shows the motion, the document where the seat may read it, and what was
said before it, which grows by round. Sizes are bytes of UTF-8."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.core.experiments.spec import Arm
from app.core.players import SeatSetup
from app.core.schedules import StepKind
from app.core.seats import Seat

_TURN_BYTES = 70
"""What surrounds a turn in the prompt: its round, seat and kind."""


@dataclass(frozen=True, slots=True)
class MotionSizes:
    """Means over motions."""

    motion: float = 0.0
    """With its answers."""
    document: float = 0.0
    longest: int = 0
    """Of a motion with its answers and document."""


@dataclass(frozen=True, slots=True)
class SentCall:
    setup: SeatSetup
    kind: StepKind
    shown_bytes: float
    """Without the instructions."""


@dataclass(frozen=True, slots=True)
class DebateCalls:
    calls: list[SentCall]
    judged_bytes: float
    """What a judgment shows. Rulings are not shown to other judges."""
    begun_bytes: tuple[float, ...]
    """What a judgment shows of the rounds before each round."""


Said = Callable[[SeatSetup, StepKind], float]
"""How long what a player says is."""


def calls_of_debate(arm: Arm, seats: Mapping[Seat, SeatSetup], sizes: MotionSizes, said: Said) -> DebateCalls:
    schedule = arm.schedule
    transcript = rulings = 0.0
    about, begun, calls = _about(arm, Seat.ARBITRATOR, sizes), [], list[SentCall]()
    for number in range(1, (schedule.fixed or arm.rounds or 0) + 1):
        this, before = schedule.round(number, arm.rounds), transcript
        if this.step_of.keys() - {Seat.ARBITRATOR}:
            begun.append(about + transcript - rulings)
        for step in this.steps:
            shown = before if this.simultaneous and step.seat is not Seat.ARBITRATOR else transcript
            calls.append(SentCall(seats[step.seat], step.kind, _about(arm, step.seat, sizes) + shown))
            size = said(seats[step.seat], step.kind) + _TURN_BYTES
            transcript += size
            rulings += size if step.kind is StepKind.RULING else 0
    return DebateCalls(calls, about + transcript - rulings, tuple(begun))


def _about(arm: Arm, seat: Seat, sizes: MotionSizes) -> float:
    visible = arm.document_visible_to if arm.document_visible_to is not None else DEBATERS
    return sizes.motion + (sizes.document if seat.role in visible else 0.0)


DEBATERS = ("proposer", "opponent")
"""Who reads a document where nothing is said about it."""
