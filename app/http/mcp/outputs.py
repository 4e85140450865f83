"""What the tools answer: the shapes of the API, shortened to what an agent needs, with their JSON schemas."""

from typing import Any

from app.core.debate import Debate, TurnType
from app.core.seat_view import SeatView, turn_view
from app.core.seats import Seat
from app.wire.debates import debate_json

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


_TEXT, _NUMBER, _ANY = {"type": "string"}, {"type": "integer"}, {"type": ["object", "null"]}
_MAYBE = {"type": ["string", "null"]}
DEBATE = an_object(
    "id title format status state seats argument_count",
    id=_TEXT,
    title=_TEXT,
    format=_TEXT,
    status=_TEXT,
    state=_TEXT,
    next_role=_MAYBE,
    seats={"type": "object"},
    argument_count=_NUMBER,
    stop_reason=_MAYBE,
    stop_note=_MAYBE,
    last_error=_MAYBE,
    verdict=_ANY,
    answers=_ANY,
)
ARGUMENT = an_object(
    "id seq type role content",
    id=_TEXT,
    seq=_NUMBER,
    type=_TEXT,
    role=_TEXT,
    round={"type": ["integer", "null"]},
    content=_TEXT,
    verdict=_ANY,
)
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
    whole = debate_json(debate)
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
    """The call that goes on from here; None when the debate is closed."""
    if debate.is_closed:
        return None
    return {
        "tool": "wait_for_turn",
        "arguments": {"debate_id": str(debate.id), "role": seat.role, "after_seq": seq, "max_seconds": 45},
    }
