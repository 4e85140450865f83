"""A debate in words: whose turn it is, what each role can do now, and how the debate ended."""

import shlex

from app.cli.output import Json, clean, program
from app.core.debate import (
    HELD_ELSEWHERE,
    State,
    Status,
    TurnType,
    is_held_elsewhere,
    missed_deadline,
    stop_words,
)
from app.core.formats import Format
from app.core.machine import judge_asks, moves_in
from app.core.players import EXTERNAL
from app.core.refusals import MOVE_WORDS
from app.core.seats import Seat
from app.core.verdicts import TIE, VerdictScope, scores_in_words

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
    if is_held_elsewhere(debate["stop_reason"], debate["argument_count"]):
        return f"The debate is {debate['status']}: {HELD_ELSEWHERE}."
    note = debate.get("stop_note") or ""
    who = f" {clean(note)}" if missed_deadline(debate["stop_reason"], note) else ""
    return f"The debate is {debate['status']}: {stop_words(debate['stop_reason'], note)}.{who}"


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


def commands_for(debate: Json, role: str) -> list[str]:
    """The commands that the server would now accept from an agent or a person in this role."""
    if debate["status"] == Status.PAUSED or waits_for_start(debate):
        return []
    seat = Seat(role)
    # A person may always act as the judge, whatever player has the seat.
    if seat is not Seat.ARBITRATOR and debate["seats"][role]["player"] != EXTERNAL:
        return []
    asks = judge_asks(Format(debate["format"]), debate["limits"]["max_rounds"], debate["next_round"])
    return [COMMAND_OF[kind] for kind in moves_in(State(debate["state"]), seat, asks)]


def waits_for_start(debate: Json) -> bool:
    return bool(debate["waits_for_start"])


def whose_turn(debate: Json) -> str:
    if debate["state"] == State.CLOSED:
        return "The debate is closed."
    if waits_for_start(debate):
        return "The debate was not started: nobody takes a turn before that."
    role = Seat.of_actor(debate["next_actor"]).role
    player = debate["seats"][role]["player"]
    if debate["state"] == State.INTERVENTION_PENDING:
        who = "a person must rule on the intervention"
    elif player == EXTERNAL:
        who = "a person or an agent takes it"
    else:
        who = f"the player {player} takes it"
    must_resume = debate["status"] in (Status.PAUSED, Status.FAILED)
    return f"{'Once the debate is resumed, it' if must_resume else 'It'} is the {seat_name(role)}'s turn: {who}."


def next_steps(debate: Json, role: str, latest_id: str) -> list[str]:
    """Lines that name the commands to go on with."""
    debate_id = debate["id"]
    if debate["state"] == State.CLOSED:
        return ["Read the whole debate:", f"  {program()} export {debate_id} --format markdown"]
    examples = {_example(command, debate_id, role, latest_id): command for command in commands_for(debate, role)}
    if not examples:
        return ["Wait for your turn:", f"  {wait_command(debate_id, role, latest_id)}"]
    width = max(len(example) for example in examples)
    title = "It is your turn:" if Seat(role).actor == debate["next_actor"] else "You can:"
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
