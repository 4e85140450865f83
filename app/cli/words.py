"""A debate in words: whose turn it is, what each role can do now, and how the debate ended."""

import shlex

from app.cli.output import Json, clean, program
from app.core.debate import HELD_ELSEWHERE, State, Status, StopReason, TurnType, stop_words
from app.core.seat_view import SeatView, seat_view, turn_view
from app.core.seats import Seat
from app.core.verdicts import TIE, VerdictScope, scores_in_words
from app.wire.situations import situation_of
from app.words import seats
from app.words.seats import MOVE_WORDS

COMMAND_OF = {
    TurnType.CLAIM: "submit",
    TurnType.APPEAL: "appeal",
    TurnType.RESOLUTION: "request-completion",
    TurnType.INTERVENTION: "intervention",
    TurnType.RULING: "ruling",
    TurnType.QUESTION: "question",
}
_MEANS = {command: MOVE_WORDS[kind] for kind, command in COMMAND_OF.items()}


def seat_name(role: str) -> str:
    return Seat(role).word


def has_ended(debate: Json) -> bool:
    return bool(debate["state"] == State.CLOSED or debate["status"] == Status.FAILED)


def ending(debate: Json) -> str:
    if debate["status"] == Status.FAILED:
        return f"The debate failed: {clean(debate['last_error'] or 'no reason was recorded')}"
    if debate["imported"]:
        return f"The debate is {debate['status']}: {HELD_ELSEWHERE}."
    reason, is_late = debate["stop_reason"], debate["missed_deadline"]
    who = f" {clean(debate['stop_note'])}" if reason == StopReason.TIME_LIMIT and is_late else ""
    return f"The debate is {debate['status']}: {stop_words(reason, is_late)}.{who}"


def judged(ruling: Json) -> str:
    """The verdict of one ruling, with what it judges: its round, or the whole debate."""
    verdict = ruling["verdict"]
    scores = ", ".join(f"{side} {score}" for side, score in scores_in_words(verdict["scores"]).items())
    if verdict["scope"] == VerdictScope.DEBATE:
        place, is_ahead = "The whole debate", "wins"
    else:
        place, is_ahead = f"Round {ruling['round']}" if ruling["round"] else "So far", "better"
    winner = "a tie" if verdict["winner"] == TIE else f"{verdict['winner']} {is_ahead}"
    return f"{place}: {winner} ({scores})"


def view_of(debate: Json, role: str) -> SeatView:
    return seat_view(situation_of(debate), Seat(role))


def commands_for(debate: Json, role: str) -> list[str]:
    """The commands that the server would now accept from an agent or a person in this role."""
    return [COMMAND_OF[kind] for kind in view_of(debate, role).moves]


def whose_turn(debate: Json) -> str:
    return seats.whose_turn(turn_view(situation_of(debate)))


def next_steps(debate: Json, role: str, latest_id: str) -> list[str]:
    """Lines that name the commands to go on with."""
    debate_id = debate["id"]
    view = view_of(debate, role)
    if view.is_closed:
        return ["Read the whole debate:", f"  {program()} export {debate_id} --format markdown"]
    examples = {_example(command, debate_id, role, latest_id): command for command in commands_for(debate, role)}
    if not examples:
        return ["Wait for your turn:", f"  {wait_command(debate_id, role, latest_id)}"]
    width = max(len(example) for example in examples)
    title = "It is your turn:" if view.has_turn else "You can:"
    return [title, *(f"  {example.ljust(width)}  # {_MEANS[command]}" for example, command in examples.items())]


def start_steps(debate_id: str) -> list[str]:
    return ["Start it:", f"  {program()} start {debate_id}"]


def wait_command(debate_id: str, role: str, last_seen: str | None, *options: str) -> str:
    seen = ("--argument-id", last_seen) if last_seen else ()
    # The program as it was typed: its path may be one that a shell expands.
    return f"{program()} {shlex.join(['wait', debate_id, '--role', role, *seen, *options])}"


def _example(command: str, debate_id: str, role: str, latest_id: str) -> str:
    options = f" --role {role}" if command == "submit" else ""
    if command in ("submit", "appeal", "request-completion"):
        options += f" --target-id {latest_id}"
    return f'{program()} {command} {debate_id}{options} --content "…"'
