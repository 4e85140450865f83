"""Whose turn it is in a debate, and the commands that each role can use now."""

import shlex

from app.cli.help import OTHER_NAMES
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
    TurnType.RESOLUTION: "resolve",
    TurnType.INTERVENTION: "interrupt",
    TurnType.RULING: "rule",
    TurnType.QUESTION: "question",
}


def view_of(debate: Json, role: str) -> SeatView:
    return seat_view(situation_of(debate), Seat(role))


def commands_for(debate: Json, role: str) -> list[str]:
    """The commands that the server would now accept from an agent or a person in this role."""
    return [COMMAND_OF[kind] for kind in view_of(debate, role).moves]


def actions_for(debate: Json, role: str) -> list[str]:
    """The same commands under the names that --json has always had."""
    return [OTHER_NAMES.get(command, command) for command in commands_for(debate, role)]


def whose_turn(debate: Json) -> str:
    return seats.whose_turn(turn_view(situation_of(debate)))


def next_steps(debate: Json, role: str, latest_id: str) -> list[str]:
    """Lines with the next commands."""
    debate_id = debate["id"]
    view = view_of(debate, role)
    if view.is_closed:
        return ["Read the whole debate:", f"  {program()} export {debate_id} --format markdown"]
    examples = {_example(COMMAND_OF[kind], debate_id, role, latest_id): MOVE_WORDS[kind] for kind in view.moves}
    if not examples:
        return ["Wait for your turn:", f"  {wait_command(debate_id, role, latest_id)}"]
    width = max(map(len, examples))
    title = "It is your turn:" if view.has_turn else "You can:"
    return [title, *(f"  {example.ljust(width)}  # {means}" for example, means in examples.items())]


def start_steps(debate_id: str) -> list[str]:
    return ["Start it:", f"  {program()} start {debate_id}"]


def wait_command(debate_id: str, role: str, last_seen: str | None, *options: str) -> str:
    seen = ("--argument-id", last_seen) if last_seen else ()
    # Not quoted: the shell must expand the path of the program as it did before.
    return f"{program()} {shlex.join(['wait', debate_id, '--role', role, *seen, *options])}"


def _example(command: str, debate_id: str, role: str, latest_id: str) -> str:
    options = f" --role {role}" if command == "submit" else ""
    if command in ("submit", "appeal", "resolve"):
        options += f" --target-id {latest_id}"
    return f'{program()} {command} {debate_id}{options} --content "…"'
