"""Postgres as the relay sees it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from app.bus import state_mark
from app.realtime.feed import Item
from app.realtime.operators import MOST_WAITING, Change
from app.realtime.relay import Position
from app.usecases import read
from app.usecases.services import Services
from app.wire import argument_json, debate_json, time_json

PAGE = 50
"""Turns of a transcript that are held at once while it is sent."""


class PostgresSource:
    def __init__(self, services: Services) -> None:
        self._services = services

    def turns_after(self, debate_id: UUID, seq: int, at_most: int) -> list[Item]:
        debate, found = read.turns_after(self._services, debate_id, seq, at_most)
        shown = debate_json(debate)
        return [
            Item(turn.seq, str(turn.id), text({"debate": shown, "argument": argument_json(turn)})) for turn in found
        ]

    def positions(self, debate_ids: Sequence[UUID]) -> dict[UUID, Position]:
        found = {}
        for debate in read.get_debates(self._services, debate_ids):
            shown = debate_json(debate)
            change = Change(shown["updated_at"], debate.turn_count, state_mark(shown))
            found[debate.id] = Position(change, text({"debate": shown}))
        return found

    def changes(self, since: datetime | None) -> tuple[datetime, dict[UUID, Change]]:
        until, found = read.changes_since(self._services, since, MOST_WAITING)
        return until, {
            one.id: Change(str(time_json(one.updated_at)), one.turn_count, state_mark(asdict(one))) for one in found
        }

    def initial_state(self, debate_id: UUID, after_seq: int) -> tuple[int, Iterator[str]]:
        """The seq it reaches, and its JSON in parts: a turn never changes, so pages read one by one make one snapshot
        of everything up to that seq."""
        debate, page = read.turns_after(self._services, debate_id, after_seq, PAGE)

        def parts() -> Iterator[str]:
            yield f'{{"event":"initial_state","data":{{"debate":{text(debate_json(debate))},"arguments":['
            turns, comma = page, ""
            while turns:
                wanted = [turn for turn in turns if turn.seq <= debate.turn_count]
                if wanted:
                    yield comma + ",".join(text(argument_json(turn)) for turn in wanted)
                    comma = ","
                if turns[-1].seq >= debate.turn_count:
                    break
                _, turns = read.turns_after(self._services, debate_id, turns[-1].seq, PAGE)
            yield "]}}"

        return max(after_seq, debate.turn_count), parts()


def text(data: dict[str, object]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
