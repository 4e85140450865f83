"""What somebody who holds a seat should do next, said from the state of the debate."""

from enum import StrEnum

from app.core.debate import State, TurnType
from app.core.machine import TRANSITIONS
from app.core.seats import Seat


class Action(StrEnum):
    DEBATE_CLOSED = "debate_closed"
    RESPOND = "respond"
    ALIGN_TO_RULING = "align_to_ruling"  # the proposer's turn, right after a ruling
    WAIT_FOR_OPPONENT = "wait_for_opponent"
    WAIT_FOR_PROPOSER = "wait_for_proposer"
    WAIT_FOR_RULING = "wait_for_ruling"


def action_for(state: State, seat: Seat, latest: TurnType) -> Action:
    """`latest` is the type of the debate's last turn."""
    if state is State.CLOSED:
        return Action.DEBATE_CLOSED
    if state in (State.AWAITING_ARBITRATOR, State.INTERVENTION_PENDING):
        return Action.WAIT_FOR_RULING
    floor = Seat.OPPONENT if state is State.AWAITING_OPPONENT else Seat.PROPOSER
    if floor is not seat:
        return Action.WAIT_FOR_OPPONENT if floor is Seat.OPPONENT else Action.WAIT_FOR_PROPOSER
    return Action.ALIGN_TO_RULING if seat is Seat.PROPOSER and latest is TurnType.RULING else Action.RESPOND


def moves_in(state: State, seat: Seat) -> list[TurnType]:
    """Every move that the table has for this seat in this state, whoever fills the seat."""
    return [kind for mover, kind in TRANSITIONS[state] if mover is seat]
