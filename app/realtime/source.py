"""What the relay reads from Postgres."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.core.changes import ChangedDebate
from app.core.debate import Debate
from app.core.errors import DebateNotFound, InvalidInput
from app.messaging.incoming import StateMark, state_mark
from app.realtime.feed import Item
from app.realtime.operators import MOST_WAITING, Version
from app.usecases import read
from app.usecases.services import Services
from app.wire.debates import ArgumentShape, DebateShape, time_json

PAGE = 50


@dataclass(frozen=True, slots=True)
class Position:
    change: Version
    data: str


@dataclass(frozen=True, slots=True)
class Missed:
    change: Version
    items: list[Item]


@dataclass(frozen=True, slots=True)
class Snapshot:
    created_at: str
    seq: int
    parts: Iterator[str]


class PostgresSource:
    def __init__(self, services: Services) -> None:
        self._services = services

    def turns_after(self, known: Mapping[UUID, int], at_most: int) -> dict[UUID, Missed]:
        found = {}
        for debate, stored in read.turns_after_each(self._services, known, at_most):
            shown = DebateShape.of(debate)
            told = ((turn, ArgumentShape.of(turn)) for turn in stored)
            items = [
                Item(turn.seq, str(turn.id), text({"debate": shown, "argument": argument}), argument["created_at"])
                for turn, argument in told
            ]
            found[debate.id] = Missed(_version(debate, shown), items)
        return found

    def positions(self, debate_ids: Sequence[UUID]) -> dict[UUID, Position]:
        found = {}
        for debate in read.get_debates(self._services, debate_ids):
            shown = DebateShape.of(debate)
            found[debate.id] = Position(_version(debate, shown), text({"debate": shown}))
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
            yield f'{{"event":"initial_state","data":{{"debate":{text(DebateShape.of(debate))},"arguments":['
            turns, comma = page, ""
            while turns:
                wanted = [turn for turn in turns if turn.seq <= debate.turn_count]
                if wanted:
                    yield comma + ",".join(text(ArgumentShape.of(turn)) for turn in wanted)
                    comma = ","
                if turns[-1].seq >= debate.turn_count:
                    break
                now, turns = read.turns_after(self._services, debate_id, turns[-1].seq, PAGE)
                if now.created_at != debate.created_at:
                    raise DebateNotFound(debate_id)
            yield "]}}"

        return Snapshot(str(time_json(debate.created_at)), debate.turn_count, parts())


def _version(debate: Debate, shown: dict[str, Any]) -> Version:
    return Version(shown["updated_at"], debate.turn_count, state_mark(shown), shown["created_at"])


def _change(one: ChangedDebate) -> Version:
    mark = StateMark(one.status, one.attempts)
    return Version(str(time_json(one.updated_at)), one.turn_count, mark, str(time_json(one.created_at)))


def text(data: dict[str, object]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
