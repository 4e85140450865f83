"""What the tools answer: the shapes of the API, shortened to what an agent needs, with their JSON schemas."""

import json
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from app.core.debate import Debate, State, Status, TurnType
from app.core.machine import moves_of
from app.core.seats import Seat
from app.wire.debates import ArgumentShape, DebateShape
from app.wire.shape import Shape

Json = dict[str, Any]
TOOL_OF = {
    TurnType.CLAIM: "argue",
    TurnType.APPEAL: "appeal",
    TurnType.RESOLUTION: "resolve",
    TurnType.RULING: "rule",
    TurnType.QUESTION: "ask",
}
_MEANING = {
    "argue": "`argue`: answer the last argument",
    "appeal": "`appeal`: call the judge",
    "resolve": "`resolve`: close the debate, with your text as its result",
    "rule": "`rule`: your ruling; with close=true it ends the debate",
    "ask": "`ask`: a question that both sides answer in the next round",
}


WHICH_ANSWER = (
    "Judge which answer is correct, and not who speaks better: the winner is the side that defends that answer, and"
    " confidence is the probability that it is correct."
)


def an_object(required: str, **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": required.split()}


def _fields(shape: type[Shape], names: str) -> Json:
    """Of the API's shape these fields, each with the type of its JSON."""
    return {name: {"type": _type_of(shape.model_fields[name].annotation)} for name in names.split()}


def _type_of(annotation: Any) -> str | list[str]:
    if get_origin(annotation) is UnionType:
        return ["null" if each is NoneType else str(_type_of(each)) for each in get_args(annotation)]
    if annotation is int:
        return "integer"
    return "object" if isinstance(annotation, type) and issubclass(annotation, Shape) else "string"


_TEXT, _NUMBER, _ANY = {"type": "string"}, {"type": "integer"}, {"type": ["object", "null"]}
_MAYBE = {"type": ["string", "null"]}
_ALWAYS = "id title format status state seats argument_count"
DEBATE = an_object(
    _ALWAYS,
    **_fields(DebateShape, f"{_ALWAYS} stop_reason stop_note last_error verdict"),
    next_role=_MAYBE,
    answers=_ANY,
)
_SAID = "id seq type role content"
ARGUMENT = an_object(_SAID, **_fields(ArgumentShape, f"{_SAID} round verdict"))
NEXT_CALL = {**an_object("tool arguments", tool=_TEXT, arguments={"type": "object"}), "type": ["object", "null"]}
DEBATES = an_object("debates", debates={"type": "array", "items": DEBATE})
SEATS = an_object(
    "open", open={"type": "array", "items": an_object("debate_id title role", debate_id=_TEXT, title=_TEXT, role=_TEXT)}
)
ONE_DEBATE = an_object("debate next_call", debate=DEBATE, next_call=NEXT_CALL)
STORED = an_object("debate argument next_call", debate=DEBATE, argument=ARGUMENT, next_call=NEXT_CALL)
TURN = an_object(
    "state seq new rules answer_by next_call",
    state={"type": "string", "enum": ["your_turn", "waiting", "closed"]},
    seq=_NUMBER,
    new={"type": "array", "items": ARGUMENT},
    rules=_TEXT,
    answer_by=_MAYBE,
    next_call=NEXT_CALL,
)
TRANSCRIPT = an_object("debate arguments", debate=DEBATE, arguments={"type": "array", "items": ARGUMENT})
JUDGED = an_object("judgment", judgment={"type": "object"})


def debate_shape(debate: Debate) -> Json:
    whole = DebateShape.of(debate)
    kept = {name: whole[name] for name in DEBATE["properties"] if name in whole}
    is_open = debate.state is not State.CLOSED
    players = {role: seat["player"] for role, seat in whole["seats"].items()}
    return {
        **kept,
        "next_role": debate.cursor.seat.role if is_open else None,
        "seats": players,
        "answers": dict(debate.answers) if debate.answers else None,
    }


def argument_shape(argument: Json) -> Json:
    return {name: argument[name] for name in ARGUMENT["properties"]}


def state_for(debate: Debate, seat: Seat) -> str:
    if debate.state is State.CLOSED:
        return "closed"
    is_held_up = debate.is_held_back or debate.status in (Status.PAUSED, Status.FAILED)
    return "your_turn" if debate.cursor.seat is seat and not is_held_up else "waiting"


def rules_for(debate: Debate, seat: Seat, max_bytes: int) -> str:
    """What this seat may do now, in words."""
    state = state_for(debate, seat)
    if state == "closed":
        return "The debate is closed. No more turns are accepted; `transcript` has the verdict."
    if debate.is_held_back:
        return "The debate has not been started, and nobody may speak before it is. Wait."
    if state == "waiting":
        held_up = debate.status if debate.status in (Status.PAUSED, Status.FAILED) else None
        if held_up:
            return f"The debate is {held_up}; it goes on when somebody resumes it. Wait."
        return f"It is the {debate.cursor.seat.role}'s turn. Wait."
    tools = [TOOL_OF[kind] for kind in moves_of(debate, seat) if kind in TOOL_OF]
    able = "; ".join(_MEANING[tool] for tool in tools)
    return (
        f"You are the {seat.role}, and it is your turn. {_about_answers(debate, seat)}"
        f"Call one of: {able}. At most {max_bytes:,} bytes of text."
    )


def _about_answers(debate: Debate, seat: Seat) -> str:
    """What this seat does with the answers, where the debate has any."""
    if debate.answers is None:
        return ""
    shown = {side: json.dumps(answer, ensure_ascii=False) for side, answer in debate.answers.items()}
    if seat is Seat.ARBITRATOR:
        each = ", ".join(f"the {side} defends {answer}" for side, answer in shown.items())
        return f"One of two answers is correct: {each}. {WHICH_ANSWER} "
    other = "opponent" if seat is Seat.PROPOSER else "proposer"
    return f"You defend the answer {shown[seat.role]} against the answer {shown[other]}. "


def next_wait(debate: Debate, seat: Seat, seq: int) -> Json | None:
    """The call that goes on from here; None when the debate is closed."""
    if debate.state is State.CLOSED:
        return None
    return {
        "tool": "wait_for_turn",
        "arguments": {"debate_id": str(debate.id), "role": seat.role, "after_seq": seq, "max_seconds": 45},
    }
