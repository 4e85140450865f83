"""What the relay reads from Postgres."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.core.errors import DebateNotFound, InvalidInput
from app.messaging.heard import state_mark
from app.realtime.feed import Item
from app.realtime.operators import MOST_WAITING, Version
from app.store.overview import Changed
from app.usecases import read
from app.usecases.services import Services
from app.wire.debates import argument_json, debate_json, time_json

PAGE = 50
"""Turns of a transcript that are held in memory at once while it is sent."""


@dataclass(frozen=True, slots=True)
class Position:
    """The latest version of a debate in Postgres."""

    change: Version
    data: str
    """The JSON of {debate}."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A debate with its turns, sent to a new listener."""

    created_at: str
    seq: int
    """The last turn in it."""
    parts: Iterator[str]
    """Its JSON, read lazily."""


class PostgresSource:
    def __init__(self, services: Services) -> None:
        self._services = services

    def turns_after(self, debate_id: UUID, created_at: str, seq: int, at_most: int) -> list[Item]:
        """Raises DebateNotFound also for another debate that was created later under the same id."""
        debate, found = read.turns_after(self._services, debate_id, seq, at_most)
        shown = debate_json(debate)
        if shown["created_at"] != created_at:
            raise DebateNotFound(debate_id)
        told = ((turn, argument_json(turn)) for turn in found)
        return [
            Item(turn.seq, str(turn.id), text({"debate": shown, "argument": argument}), argument["created_at"])
            for turn, argument in told
        ]

    def positions(self, debate_ids: Sequence[UUID]) -> dict[UUID, Position]:
        found = {}
        for debate in read.get_debates(self._services, debate_ids):
            shown = debate_json(debate)
            change = Version(shown["updated_at"], debate.turn_count, state_mark(shown), shown["created_at"])
            found[debate.id] = Position(change, text({"debate": shown}))
        return found

    def changes(self, since: datetime | None) -> tuple[datetime, dict[UUID, Version]]:
        until, found = read.changes_since(self._services, since, MOST_WAITING)
        return until, {one.id: _change(one) for one in found}

    def last_changes(self, debate_ids: Sequence[UUID]) -> dict[UUID, Version]:
        return {one.id: _change(one) for one in read.last_changes(self._services, debate_ids)}

    def initial_state(self, debate_id: UUID, after_seq: int) -> Snapshot:
        """Turns never change, so pages read one after another form one snapshot up to the debate's last turn."""
        debate, page = read.turns_after(self._services, debate_id, after_seq, PAGE)
        if after_seq > debate.turn_count:
            raise InvalidInput("after_seq", f"this debate has only {debate.turn_count} turns")

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
                now, turns = read.turns_after(self._services, debate_id, turns[-1].seq, PAGE)
                if now.created_at != debate.created_at:
                    raise DebateNotFound(debate_id)
            yield "]}}"

        return Snapshot(str(time_json(debate.created_at)), debate.turn_count, parts())


def _change(one: Changed) -> Version:
    mark = state_mark({"status": one.status, "attempts": one.attempts})
    return Version(str(time_json(one.updated_at)), one.turn_count, mark, str(time_json(one.created_at)))


def text(data: dict[str, object]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
