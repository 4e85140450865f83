"""What the holder of a seat should do next, given the state of the debate."""

from enum import StrEnum

from app.core.debate import State, TurnType
from app.core.seats import Seat


class NextAction(StrEnum):
    DEBATE_CLOSED = "debate_closed"
    RESPOND = "respond"
    RULE = "rule"  # the arbitrator's turn
    ASK = "ask"  # the arbitrator's turn, before the last round of a format in which the judge asks
    ALIGN_TO_RULING = "align_to_ruling"  # the proposer's turn, right after a ruling
    WAIT_FOR_OPPONENT = "wait_for_opponent"
    WAIT_FOR_PROPOSER = "wait_for_proposer"
    WAIT_FOR_RULING = "wait_for_ruling"


def action_for(state: State, seat: Seat, latest: TurnType, asks: bool = False) -> NextAction:
    """`latest` is the type of the debate's last turn; `asks` what `machine.judge_asks` says of the round."""
    if state is State.CLOSED:
        return NextAction.DEBATE_CLOSED
    if state in (State.AWAITING_ARBITRATOR, State.INTERVENTION_PENDING):
        if seat is not Seat.ARBITRATOR:
            return NextAction.WAIT_FOR_RULING
        return NextAction.ASK if asks and state is State.AWAITING_ARBITRATOR else NextAction.RULE
    floor = Seat.OPPONENT if state is State.AWAITING_OPPONENT else Seat.PROPOSER
    if floor is not seat:
        return NextAction.WAIT_FOR_OPPONENT if floor is Seat.OPPONENT else NextAction.WAIT_FOR_PROPOSER
    return NextAction.ALIGN_TO_RULING if seat is Seat.PROPOSER and latest is TurnType.RULING else NextAction.RESPOND
