"""What the calls of an experiment send: each shows the motion, the document where the seat may read it, and what was
said before it, which grows by round. Sizes are bytes of UTF-8."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.core.experiments.spec import Arm
from app.core.formats import JudgeActs
from app.core.players import SeatSetup
from app.core.seats import Seat

_TURN_BYTES = 70
"""What stands around a turn in the prompt: its round, seat and kind."""


class CallKind(StrEnum):
    """What a call is for. A model says more in one than in another."""

    SPEECH = "speech"
    QUESTION = "question"
    RULING = "ruling"  # also that of a judgment


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
    kind: CallKind
    shown_bytes: float
    """Beside the instructions."""


@dataclass(frozen=True, slots=True)
class DebateCalls:
    calls: list[SentCall]
    judged_bytes: float
    """What a judgment shows. Rulings are not shown to other judges."""


Said = Callable[[SeatSetup, CallKind], float]
"""How long what a player says is."""


def calls_of_debate(arm: Arm, seats: Mapping[Seat, SeatSetup], sizes: MotionSizes, said: Said) -> DebateCalls:
    facts, rounds, judge = arm.format.facts, arm.rounds or 0, seats[Seat.ARBITRATOR]
    transcript = rulings = 0.0
    calls: list[SentCall] = []

    def ask(seat: Seat, kind: CallKind, before: float) -> float:
        calls.append(SentCall(seats[seat], kind, _about(arm, seat, sizes) + before))
        return said(seats[seat], kind) + _TURN_BYTES

    for number in range(1, rounds + 1):
        before = transcript
        for seat in facts.debaters:
            transcript += ask(seat, CallKind.SPEECH, before if facts.hides_the_round else transcript)
        if facts.judge is JudgeActs.EVERY_ROUND:
            ruling = ask(Seat.ARBITRATOR, CallKind.RULING, transcript)
            transcript, rulings = transcript + ruling, rulings + ruling
        elif facts.judge is JudgeActs.ASKS and number < rounds:
            transcript += ask(Seat.ARBITRATOR, CallKind.QUESTION, transcript)
    if facts.judge is not JudgeActs.EVERY_ROUND or not rounds:
        calls.append(SentCall(judge, CallKind.RULING, _about(arm, Seat.ARBITRATOR, sizes) + transcript))
    return DebateCalls(calls, _about(arm, Seat.ARBITRATOR, sizes) + transcript - rulings)


def _about(arm: Arm, seat: Seat, sizes: MotionSizes) -> float:
    visible = arm.document_visible_to if arm.document_visible_to is not None else DEBATERS
    return sizes.motion + (sizes.document if seat.role in visible else 0.0)


DEBATERS = ("proposer", "opponent")
"""Who reads a document where nothing is said about it."""
