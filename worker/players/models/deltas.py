"""Streams a model's answer to listeners: at most ten messages a second for each debate."""

from collections.abc import Callable
from uuid import UUID

import pydantic_core
from cachetools import TTLCache

from app.core.brief import Brief
from app.messaging.bus import Event

EVERY_SECONDS = 0.1
_MOST_REMEMBERED = 20_000


class Deltas:
    def __init__(self, publish: Callable[[Event], None]) -> None:
        self._publish = publish
        self._just_told: TTLCache[UUID, None] = TTLCache(_MOST_REMEMBERED, EVERY_SECONDS)

    def of(self, brief: Brief, field: str | None) -> Callable[[str], None]:
        debate = brief.debate
        heard: list[str] = []
        told = 0

        def hear(piece: str) -> None:
            nonlocal told
            heard.append(piece)
            if debate.id in self._just_told:
                return
            spoken = "".join(heard) if field is None else _spoken("".join(heard), field)
            if len(spoken) > told:
                data = {"round": debate.cursor.round, "role": brief.seat.role, "text": spoken[told:]}
                told = len(spoken)
                self._just_told[debate.id] = None
                self._publish(Event(debate.id, "argument_delta", lambda: data))

        return hear


def _spoken(unfinished: str, field: str) -> str:
    try:
        so_far = pydantic_core.from_json(unfinished[unfinished.find("{") :], allow_partial="trailing-strings")
    except ValueError:
        return ""
    value = so_far.get(field) if isinstance(so_far, dict) else None
    return value if isinstance(value, str) else ""
