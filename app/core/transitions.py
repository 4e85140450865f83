"""Every move: in which state which seat may make it, and where it leads. `docs/states.md` is drawn from this table."""

from enum import Enum

from app.core.debate import State, TurnType
from app.core.seats import Seat


class Next(Enum):
    """Where the cursor goes after a move."""

    NEXT_STEP = "the next step of the schedule"
    JUDGE = "the judge, in the same round"
    INTERRUPTED = "the turn that was interrupted; where the ruling on it has a round, the next round"


TRANSITIONS: dict[State, dict[tuple[Seat, TurnType], Next]] = {
    State.AWAITING_PROPOSER: {
        (Seat.PROPOSER, TurnType.CLAIM): Next.NEXT_STEP,
        (Seat.PROPOSER, TurnType.QUESTION): Next.NEXT_STEP,
        (Seat.PROPOSER, TurnType.APPEAL): Next.JUDGE,
        (Seat.PROPOSER, TurnType.RESOLUTION): Next.JUDGE,
        (Seat.ARBITRATOR, TurnType.INTERVENTION): Next.JUDGE,
    },
    State.AWAITING_OPPONENT: {
        (Seat.OPPONENT, TurnType.CLAIM): Next.NEXT_STEP,
        (Seat.OPPONENT, TurnType.QUESTION): Next.NEXT_STEP,
        (Seat.ARBITRATOR, TurnType.INTERVENTION): Next.JUDGE,
    },
    State.AWAITING_ARBITRATOR: {
        (Seat.ARBITRATOR, TurnType.RULING): Next.NEXT_STEP,
        (Seat.ARBITRATOR, TurnType.QUESTION): Next.NEXT_STEP,
    },
    State.INTERVENTION_PENDING: {
        (Seat.ARBITRATOR, TurnType.RULING): Next.INTERRUPTED,
    },
    State.CLOSED: {},
}
