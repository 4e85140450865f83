"""Why a move was refused, as a person would say it. The API answers with it beside the machine's own message."""

from app.core.debate import Debate, Status, TurnType
from app.core.seats import Seat

MOVE_WORDS = {
    TurnType.CLAIM: "argue",
    TurnType.APPEAL: "call the judge",
    TurnType.RESOLUTION: "end the debate in agreement",
    TurnType.INTERVENTION: "interrupt the debate",
    TurnType.RULING: "rule",
    TurnType.QUESTION: "ask a question",
    TurnType.MOTION: "put another motion",
}
_ONLY = {
    TurnType.APPEAL: Seat.PROPOSER,
    TurnType.RESOLUTION: Seat.PROPOSER,
    TurnType.INTERVENTION: Seat.ARBITRATOR,
    TurnType.RULING: Seat.ARBITRATOR,
    TurnType.QUESTION: Seat.ARBITRATOR,
}


def explain(debate: Debate, seat: Seat, kind: TurnType, seat_could: bool) -> str:
    """`seat_could`: the rules have this move for this seat now, and only its player stands in the way."""
    if debate.is_closed:
        return "The debate is closed, and nothing can be added to it"
    only = _ONLY.get(kind)
    if only is not None and only is not seat:
        return f"Only the {only.word} can {MOVE_WORDS[kind]}"
    if seat_could and not debate.seats[seat].is_external:
        return f"{debate.seats[seat].player} holds the seat of the {seat.word} and speaks for itself"
    if debate.status is Status.FAILED:
        return "The debate has failed; it goes on when somebody resumes it"
    return _whose_turn(debate, seat, kind)


def _whose_turn(debate: Debate, seat: Seat, kind: TurnType) -> str:
    if debate.intervention_open:
        return "The debate is interrupted: a person must rule before it goes on"
    holder = debate.cursor.seat
    if holder is seat:
        return f"The {seat.word} cannot {MOVE_WORDS[kind]} at this point of the debate"
    thinking = f": {debate.floor.player} is thinking" if debate.awaits_worker else ""
    return f"It is the {holder.word}'s turn{thinking}"
