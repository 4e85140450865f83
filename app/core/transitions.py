"""Every move: in which state which seat may make it, and where it leads. `docs/states.md` is drawn from this table."""

from enum import Enum

from app.core.debate import State, TurnType
from app.core.seats import Seat


class Next(Enum):
    """Where the cursor goes after a move."""

    NEXT_DEBATER = "the next debater of the round; after the last one the judge, or the next round"
    JUDGE = "the judge, in the same round"
    NEXT_ROUND = "the first debater of the next round"
    INTERRUPTED = "the turn that was interrupted; where the ruling on it has a round, the next round"


TRANSITIONS: dict[State, dict[tuple[Seat, TurnType], Next]] = {
    State.AWAITING_PROPOSER: {
        (Seat.PROPOSER, TurnType.CLAIM): Next.NEXT_DEBATER,
        (Seat.PROPOSER, TurnType.APPEAL): Next.JUDGE,
        (Seat.PROPOSER, TurnType.RESOLUTION): Next.JUDGE,
        (Seat.ARBITRATOR, TurnType.INTERVENTION): Next.JUDGE,
    },
    State.AWAITING_OPPONENT: {
        (Seat.OPPONENT, TurnType.CLAIM): Next.NEXT_DEBATER,
        (Seat.ARBITRATOR, TurnType.INTERVENTION): Next.JUDGE,
    },
    State.AWAITING_ARBITRATOR: {
        (Seat.ARBITRATOR, TurnType.RULING): Next.NEXT_ROUND,
        (Seat.ARBITRATOR, TurnType.QUESTION): Next.NEXT_ROUND,
    },
    State.INTERVENTION_PENDING: {
        (Seat.ARBITRATOR, TurnType.RULING): Next.INTERRUPTED,
    },
    State.CLOSED: {},
}
