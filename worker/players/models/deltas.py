"""Streams a model's answer to listeners: at most ten messages a second for each debate."""

import time
from collections.abc import Callable
from uuid import UUID

import pydantic_core

from app.core.brief import Brief
from app.messaging.bus import Event

EVERY_SECONDS = 0.1
_MOST_REMEMBERED = 1_000


class Deltas:
    """For all debates of this process, each with its own rate limit."""

    def __init__(self, publish: Callable[[Event], None]) -> None:
        self._publish = publish
        self._told_at: dict[UUID, float] = {}

    def of(self, brief: Brief, field: str | None) -> Callable[[str], None]:
        """Takes the pieces of one answer. `field` is the spoken one where the answer is a JSON object.

        The rest that is unsent when the answer ends is not sent: the argument itself follows at once.
        """
        debate = brief.debate
        heard: list[str] = []
        told = 0

        def hear(piece: str) -> None:
            nonlocal told
            heard.append(piece)
            now = time.monotonic()
            if now - self._told_at.get(debate.id, 0.0) < EVERY_SECONDS:
                return
            spoken = "".join(heard) if field is None else _spoken("".join(heard), field)
            if len(spoken) > told:
                data = {"round": debate.cursor.round, "role": brief.seat.role, "text": spoken[told:]}
                told = len(spoken)
                self._remember(debate.id, now)
                self._publish(Event(debate.id, "argument_delta", lambda: data))

        return hear

    def _remember(self, debate_id: UUID, now: float) -> None:
        if len(self._told_at) > _MOST_REMEMBERED:
            self._told_at = {other: at for other, at in self._told_at.items() if now - at < EVERY_SECONDS}
        self._told_at[debate_id] = now


def _spoken(unfinished: str, field: str) -> str:
    """The field of an incomplete JSON object."""
    try:
        so_far = pydantic_core.from_json(unfinished[unfinished.find("{") :], allow_partial="trailing-strings")
    except ValueError:
        return ""
    value = so_far.get(field) if isinstance(so_far, dict) else None
    return value if isinstance(value, str) else ""
