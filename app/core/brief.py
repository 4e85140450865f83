"""What a player is given to think about, and what it gives back."""

from dataclasses import dataclass, field

from app.core.debate import Debate, Turn, TurnType, Usage, Verdict
from app.core.players import SeatSetup
from app.core.seats import Seat


@dataclass(frozen=True, slots=True)
class Brief:
    debate: Debate
    motion: Turn
    recent: tuple[Turn, ...]
    """The last turns, oldest first; never the motion, and bounded however long the debate is."""

    @property
    def seat(self) -> Seat:
        return self.debate.cursor.seat

    @property
    def setup(self) -> SeatSetup:
        return self.debate.seats[self.seat]

    def last_turn_of(self, seat: Seat) -> Turn | None:
        return next((turn for turn in reversed(self.recent) if turn.seat is seat), None)


@dataclass(frozen=True, slots=True)
class Thought:
    type: TurnType
    content: str
    verdict: Verdict | None = None
    close: bool = False
    usage: Usage = field(default_factory=Usage)
