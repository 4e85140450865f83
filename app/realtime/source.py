"""Postgres as the relay sees it."""

import json
from collections.abc import Sequence
from uuid import UUID

from app.bus import state_mark
from app.realtime.feed import Item
from app.realtime.relay import Position
from app.usecases import read
from app.usecases.services import Services
from app.wire import argument_json, debate_json


class PostgresSource:
    def __init__(self, services: Services) -> None:
        self._services = services

    def turns_after(self, debate_id: UUID, seq: int, at_most: int) -> list[Item]:
        debate, found = read.turns_after(self._services, debate_id, seq, at_most)
        shown = debate_json(debate)
        return [
            Item(turn.seq, str(turn.id), _text({"debate": shown, "argument": argument_json(turn)})) for turn in found
        ]

    def positions(self, debate_ids: Sequence[UUID]) -> dict[UUID, Position]:
        found = {}
        for debate in read.get_debates(self._services, debate_ids):
            shown = debate_json(debate)
            found[debate.id] = Position(debate.turn_count, state_mark(shown), _text({"debate": shown}))
        return found


def _text(data: dict[str, object]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
