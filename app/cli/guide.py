"""What somebody who holds a seat can do now, said as commands."""

import shlex

from app.cli.client import Json
from app.core.debate import State, Status, TurnType
from app.core.guidance import moves_in
from app.core.players import EXTERNAL
from app.core.seats import Seat

COMMAND_OF = {
    TurnType.CLAIM: "submit",
    TurnType.APPEAL: "appeal",
    TurnType.RESOLUTION: "request-completion",
    TurnType.INTERVENTION: "intervention",
    TurnType.RULING: "ruling",
}
_MEANS = {
    "submit": "argue",
    "appeal": "call the judge",
    "request-completion": "end the debate in agreement",
    "intervention": "interrupt",
    "ruling": "rule",
}


def commands_for(debate: Json, role: str) -> list[str]:
    """The moves that the server would take now from somebody outside, by the names of their commands."""
    if debate["status"] == Status.PAUSED:
        return []
    seat = Seat(role)
    # A person may always act in the arbitrator's place.
    if seat is not Seat.ARBITRATOR and debate["seats"][role]["player"] != EXTERNAL:
        return []
    return [COMMAND_OF[kind] for kind in moves_in(State(debate["state"]), seat)]


def whose_turn(debate: Json) -> str:
    if debate["state"] == State.CLOSED:
        return "nobody's: the debate is closed"
    role = Seat.of_actor(debate["next_actor"]).role
    player = debate["seats"][role]["player"]
    if debate["state"] == State.INTERVENTION_PENDING:
        turn = "the arbitrator's: a person rules on the intervention"
    elif player == EXTERNAL:
        turn = f"the {role}'s, from outside"
    else:
        turn = f"the {role}'s: {player} takes it by itself"
    if debate["status"] == Status.PAUSED:
        return f"{turn}, once the debate is resumed"
    if debate["status"] == Status.FAILED:
        return f"{turn}, once the debate is resumed: it has failed"
    return turn


def next_steps(debate: Json, role: str, latest_id: str) -> list[str]:
    """Lines that say how to go on: what they mean, then the command."""
    debate_id = debate["id"]
    if debate["state"] == State.CLOSED:
        return ["Read it:", f"  debate export {debate_id} --format markdown"]
    commands = commands_for(debate, role)
    if commands:
        steps = ["It is your turn:" if Seat(role).actor == debate["next_actor"] else "You may:"]
        width = max(len(_example(command, debate_id, role, latest_id)) for command in commands)
        for command in commands:
            steps.append(f"  {_example(command, debate_id, role, latest_id).ljust(width)}  # {_MEANS[command]}")
        return steps
    if role == Seat.ARBITRATOR:
        return ["Look again:", f"  debate get-context {debate_id} --role {role}"]
    return ["Wait:", f"  {wait_command(debate_id, role, latest_id)}"]


def wait_command(debate_id: str, role: str, last_seen: str | None, *options: str) -> str:
    seen = ("--argument-id", last_seen) if last_seen else ()
    return shlex.join(["debate", "wait", debate_id, "--role", role, *seen, *options])


def _example(command: str, debate_id: str, role: str, latest_id: str) -> str:
    options = f" --role {role}" if command == "submit" else ""
    if command in ("submit", "appeal", "request-completion"):
        options += f" --target-id {latest_id}"
    return f'debate {command} {debate_id}{options} --content "…"'
