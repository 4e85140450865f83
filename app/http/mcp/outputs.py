"""The output of the tools: the shapes of the API, reduced to what an agent needs, with their JSON schemas."""

from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from app.core.debate import Debate, TurnType
from app.core.seat_view import SeatView, turn_view
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
    players = {role: seat["player"] for role, seat in whole["seats"].items()}
    return {
        **kept,
        "next_role": None if debate.is_closed else turn_view(debate).turn.role,
        "seats": players,
        "answers": dict(debate.answers) if debate.answers else None,
    }


def argument_shape(argument: Json) -> Json:
    return {name: argument[name] for name in ARGUMENT["properties"]}


def turn_state(view: SeatView) -> str:
    if view.is_closed:
        return "closed"
    return "your_turn" if view.has_turn else "waiting"


def next_wait(debate: Debate, seat: Seat, seq: int) -> Json | None:
    """The next call to make; None when the debate is closed."""
    if debate.is_closed:
        return None
    return {
        "tool": "wait_for_turn",
        "arguments": {"debate_id": str(debate.id), "role": seat.role, "after_seq": seq, "max_seconds": 45},
    }
