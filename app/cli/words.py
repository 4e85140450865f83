"""Whose turn it is in a debate, and what each role can do now."""

import shlex

from app.cli.output import Json, program
from app.core.debate import TurnType
from app.core.seat_view import SeatView, seat_view, turn_view
from app.core.seats import Seat
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
