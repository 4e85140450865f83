"""Whose turn it is, what a seat may do now, and why a move was refused."""

import json
from collections.abc import Mapping

from app.core.activity import Activity
from app.core.debate import Debate, TurnType
from app.core.errors import ActionNotAllowed
from app.core.machine import Move, decide
from app.core.refusals import MoveRefused, Reason
from app.core.seat_view import Awaited, SeatView, turn_view
from app.core.seats import Seat
from app.words.counts import attempt

MOVE_WORDS = {
    TurnType.CLAIM: "argue",
    TurnType.APPEAL: "ask the judge for a ruling",
    TurnType.RESOLUTION: "end the debate in agreement",
    TurnType.INTERVENTION: "interrupt the debate",
    TurnType.RULING: "rule",
    TurnType.QUESTION: "ask a question",
    TurnType.MOTION: "state another motion",
}
WHICH_ANSWER = (
    "Judge which answer is correct, not who argues better. The winner is the side that defends the correct answer."
    " Confidence is the probability that this answer is correct."
)
_HELD_UP = {
    Awaited.RESUMPTION: "The debate is paused until it is resumed",
    Awaited.REPAIR: "The debate has failed; resume it to continue",
}


# Refusals


def refusal(of: MoveRefused) -> ActionNotAllowed:
    """The refusal as clients get it."""
    view = of.view
    if of.reason is Reason.PAUSED:
        return _before_any_move(view, "The debate is paused and accepts no submissions", "Resume the debate first")
    if of.reason is Reason.NOT_STARTED:
        message = "The debate has not started and accepts no submissions"
        return _before_any_move(view, message, "Start the debate first")
    filled = f": that seat is filled by {view.filler}" if of.is_filled else ""
    return ActionNotAllowed(
        f"Role '{view.seat.role}' cannot perform '{of.kind.lower()}' in state '{view.state}'{filled}",
        current_state=view.state,
        allowed_roles=[seat.role for seat in of.able],
        suggestion=_suggestion(view),
        explanation=_explanation(of),
    )


def _before_any_move(view: SeatView, message: str, suggestion: str) -> ActionNotAllowed:
    return ActionNotAllowed(message, current_state=view.state, allowed_roles=[], suggestion=suggestion)


def _suggestion(view: SeatView) -> str:
    turn = view.turn.role
    match view.awaited:
        case Awaited.NOTHING:
            return "The debate is closed: start a new one to continue"
        case Awaited.REPAIR:
            return "The debate has failed: read last_error, then resume or stop it"
        case Awaited.WORKER:
            return f"Wait for the {turn}: {view.player} takes that turn automatically"
        case Awaited.RULING:
            return "Wait for a person to rule on the intervention"
        case _:
            return f"Wait for the {turn} to {'rule' if view.turn is Seat.ARBITRATOR else 'submit'}"


def _explanation(of: MoveRefused) -> str:
    """The refusal in plain words, for people."""
    view, does = of.view, MOVE_WORDS[of.kind]
    match of.reason:
        case Reason.CLOSED:
            return "The debate is closed and accepts no more turns"
        case Reason.ANOTHER_SEATS_MOVE if of.only_seat:
            return f"Only the {of.only_seat.word} can {does}"
        case Reason.FILLED:
            return f"{view.filler} fills the seat of the {view.seat.word} and submits its own turns"
        case Reason.FAILED:
            return _HELD_UP[Awaited.REPAIR]
        case Reason.INTERRUPTED:
            return "The debate is interrupted: a person must rule before it continues"
        case Reason.NO_SUCH_MOVE:
            return f"The {view.seat.word} cannot {does} at this point of the debate"
        case _:
            generating = f": {view.player} is generating" if view.awaited is Awaited.WORKER else ""
            return f"It is the {view.turn.word}'s turn{generating}"


# For agents


_MEANING = {
    TurnType.CLAIM: "answer the last argument",
    TurnType.APPEAL: "ask the judge for a ruling",
    TurnType.RESOLUTION: "close the debate, with your text as its result",
    TurnType.RULING: "your ruling; with close=true it ends the debate",
    TurnType.QUESTION: "a question that is answered in the next speech",
}


def rules(view: SeatView, answers: Mapping[str, str] | None, tools: Mapping[TurnType, str], max_bytes: int) -> str:
    """What an agent in this seat may do now. `tools` are the names of its tools, `answers` those of the debate."""
    if view.is_closed:
        return "The debate is closed. No more turns are accepted; `transcript` has the verdict."
    if view.awaited is Awaited.START:
        return "The debate has not started. Wait."
    if not view.has_turn:
        whose = f"It is the {view.turn.role}'s turn"
        return f"{_HELD_UP.get(view.awaited, whose)}. Wait."
    limit = f"{view.max_words:,} words" if view.max_words else f"{max_bytes:,} bytes of text"
    able = "; ".join(f"`{tools[kind]}`: {_MEANING[kind]}" for kind in view.moves if kind in tools)
    return (
        f"You are the {view.seat.role}, and it is your turn. {_about_answers(view.seat, answers)}"
        f"Call one of: {able}. At most {limit}."
    )


def _about_answers(seat: Seat, answers: Mapping[str, str] | None) -> str:
    """What this seat does with the answers, where the debate has any."""
    if answers is None:
        return ""
    shown = {side: json.dumps(answer, ensure_ascii=False) for side, answer in answers.items()}
    if seat is Seat.ARBITRATOR:
        each = ", ".join(f"the {side} defends {answer}" for side, answer in shown.items())
        return f"One of two answers is correct: {each}. {WHICH_ANSWER} "
    other = "opponent" if seat is Seat.PROPOSER else "proposer"
    return f"You defend the answer {shown[seat.role]} against the answer {shown[other]}. "


# For the command line


def whose_turn(view: SeatView) -> str:
    if view.is_closed:
        return "The debate is closed."
    if view.awaited is Awaited.START:
        return "The debate has not started, and no turn is due."
    who = {
        Awaited.RULING: "a person must rule on the intervention",
        Awaited.OUTSIDE: "a person or an agent takes it",
        Awaited.WORKER: f"the player {view.player} takes it",
    }[view.taker]
    begins = "Once the debate is resumed, it" if view.needs_resumption else "It"
    return f"{begins} is the {view.turn.word}'s turn: {who}."


# For the pages


def beginning(view: SeatView) -> str:
    """What a debate without turns waits for."""
    if view.awaited is Awaited.START:
        return "Not started"
    return "Queued" if view.awaited is Awaited.WORKER else f"Waits for the {view.turn.word}"


def doing(view: SeatView, activity: Activity, attempts: int, attempts_allowed: int | None) -> str:
    """What an open debate does now. For RETRYING the page adds "in 5 s"."""
    turn = f"the {view.turn.word}'s turn"
    match activity:
        case Activity.GENERATING:
            return f"It is {turn}: {view.player} is generating"
        case Activity.QUEUED:
            return f"It is {turn}: waiting for a worker"
        case Activity.STALLED:
            return f"Stalled: no worker has taken {turn}"
        case Activity.RETRYING:
            return f"Attempt {attempt(attempts, attempts_allowed)} at {turn} failed; retrying"
        case Activity.PAUSED:
            return f"Paused before {turn}"
        case Activity.FAILED:
            return f"Failed at {turn}"
        case _:
            return _waits(view, turn)


def _waits(view: SeatView, turn: str) -> str:
    if view.awaited is Awaited.START:
        return "Not started yet"
    if view.awaited is Awaited.RULING:
        return "Interrupted: waiting for a person's ruling"
    return f"It is {turn}: waiting for a person or agent"


def what_arguing_does(debate: Debate) -> str:
    """A line below the form for an argument."""
    try:
        after = decide(debate, Move(turn_view(debate).turn, TurnType.CLAIM, "…")).debate
    except MoveRefused:
        return ""
    then = turn_view(after)
    kept = f"It becomes turn {debate.turn_count + 1} and cannot be edited."
    if then.is_closed:
        return f"{kept} It ends the debate."
    return f"{kept} The {then.turn.word}'s turn ({then.player}) is next."


def what_an_interruption_costs(view: SeatView, activity: Activity) -> str:
    if activity is not Activity.GENERATING:
        return "No turn is in progress, so nothing is lost."
    return (
        f"{view.player} is generating a turn. The server discards it and requests it again when the debate continues."
    )


def what_a_ruling_judges(view: SeatView) -> str:
    """For one that does not close the debate."""
    return "the debate so far" if view.ruling_is_aside else "this round"
