"""What watchers are told."""

from collections.abc import Iterable
from uuid import UUID

from app.bus import Event
from app.core.debate import Debate, Turn
from app.wire import argument_json, debate_json


def new_arguments(debate: Debate, turns: Iterable[Turn]) -> list[Event]:
    shown = debate_json(debate)
    return [Event(debate.id, "new_argument", {"debate": shown, "argument": argument_json(turn)}) for turn in turns]


def state_changed(debate: Debate) -> Event:
    return Event(debate.id, "state_changed", {"debate": debate_json(debate)})


def deleted(debate_id: UUID) -> Event:
    return Event(debate_id, "debate_deleted", {"debate_id": str(debate_id)})
