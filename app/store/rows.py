"""How debates and turns are stored: what of them is read, and what is written when."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sqlalchemy import Column, ColumnElement, Text, cast, func, literal_column

from app.core.brief import JudgmentKey
from app.core.claims import share_of_turn
from app.core.debate import Debate, Limits, Situation, Turn
from app.core.material import Material
from app.core.players import SeatSetup
from app.core.quotes import Quote
from app.core.schedule_files import hash_of, of_canonical
from app.core.schedules import BUILT_IN, Schedule
from app.core.seats import Seat
from app.core.verdicts import Verdict
from app.store.mapping import Mapped, Several, Stored, json_codec
from app.store.statements import DIALECT
from app.store.tables import WITH_CHANGES, debates, turns

_SEATS = tuple(Seat)


def names_of(columns: Iterable[Column[Any]]) -> list[str]:
    return [column.name for column in columns]


def listed(columns: Iterable[Column[Any]], of: str = "") -> str:
    return ", ".join(f'{of and f"{of}."}"{column.name}"' for column in columns)


def declared(columns: Iterable[Column[Any]]) -> str:
    """The columns with their types, as a recordset's definition has them."""
    return ", ".join(f'"{column.name}" {sql_type(column)}' for column in columns)


def sql_type(column: Column[Any]) -> str:
    return column.type.compile(DIALECT)


_limits_of_json, _limits_row = json_codec(Limits)
_material_of_json, _material_row = json_codec(Material)
_quotes_of_json, _quotes_row = json_codec(tuple[Quote, ...])
verdict_of, verdict_row = json_codec(Verdict)
key_row = Mapped(JudgmentKey).writer(("judge", "order", "repeat"))
"""Which opinion of a whole debate, as judgments have it."""


@lru_cache(maxsize=1024)
def _seats_of(text: str) -> Mapping[Seat, SeatSetup]:
    given = json.loads(text)
    return MappingProxyType({seat: SeatSetup.of_json(given[seat.role]) for seat in _SEATS})


def _seats_row(seats: Mapping[Seat, SeatSetup]) -> dict[str, Any]:
    return {seat.role: setup.as_json() for seat, setup in seats.items()}


@lru_cache(maxsize=1024)
def _limits_of(text: str) -> Any:
    return _limits_of_json(json.loads(text))


def _material_of(given: dict[str, Any] | None, document_hash: bytes | None) -> Any:
    if given is None:
        return None
    return _material_of_json({**given, "document_hash": document_hash.hex() if document_hash else None})


def _material_columns(material: Material | None) -> tuple[dict[str, Any] | None, str | None]:
    """Of the hash what Postgres reads as a bytea, also from JSON."""
    if material is None:
        return None, None
    row = _material_row(material)
    document_hash = row.pop("document_hash", None)
    return row, f"\\x{document_hash}" if document_hash else None


def schedule_of(name: str, canonical: str | None) -> Schedule:
    return of_canonical(canonical) if canonical else BUILT_IN[name]


def format_hash(schedule: Schedule) -> str | None:
    """None for a built-in format, which no table has."""
    return None if schedule.name in BUILT_IN else hash_of(schedule)


SCHEDULE_OF_DEBATE = "(SELECT formats.schedule FROM formats WHERE formats.hash = debates.format_hash)"
"""NULL for a built-in format. It costs one lookup by primary key, and none where the hash is NULL."""
_CURSOR = ("next_round", "next_actor")
_SEATS_STORED = Stored("seats", _seats_of, _seats_row)
_LIMITS_STORED = Stored("limits", _limits_of, _limits_row)
_SCHEDULE = Several(("format", "schedule"), schedule_of, lambda schedule: (schedule.name, None))
situation_rows = Mapped(Situation, schedule=_SCHEDULE, cursor=_CURSOR, seats=_SEATS_STORED, limits=_LIMITS_STORED)
debate_rows = Mapped(
    Debate,
    schedule=_SCHEDULE,
    derived={"share": share_of_turn, "format_hash": lambda debate: format_hash(debate.schedule)},
    cursor=_CURSOR,
    seats=_SEATS_STORED,
    limits=_LIMITS_STORED,
    interrupted="interrupted_actor",
    usage=("input_tokens", "output_tokens", "cost_usd"),
    forked_from=("forked_from", "forked_after_seq"),
    material=Several(("material", "document_hash"), _material_of, _material_columns),
)
turn_rows = Mapped(
    Turn,
    seat="actor",
    # NULL where there are none.
    quotes=Several(
        ("quotes",), lambda given: _quotes_of_json(given or ()), lambda quotes: (_quotes_row(quotes) or None,)
    ),
    agent=("agent_id", "agent_username"),
)
situation_of, debate_of, turn_of = situation_rows.value, debate_rows.value, turn_rows.value
SET_UP = [column for column in debates.c if column.name in debate_rows.written and not column.info]
CHANGING = [column for column in debates.c if column.info == WITH_CHANGES]
SPOKEN = [column for column in turns.c if column.name in turn_rows.written and not column.info]
"""The columns that are written once of a debate, with each of its changes, and of a turn."""
setup_row, debate_row = debate_rows.writer(names_of(SET_UP)), debate_rows.writer(names_of(CHANGING))
turn_row = turn_rows.writer(names_of(SPOKEN))
READ_AS_TEXT = frozenset({"seats", "limits"})
"""Most debates have the same as many others: by its text a value is found that was decoded before."""
past_deadline = func.coalesce(debates.c.deadline_at <= func.now(), False).label("past_deadline")
past_waiting = func.coalesce(debates.c.waiting_until <= func.now(), False).label("past_waiting")
debate_columns: list[ColumnElement[Any]] = [
    *(
        cast(column, Text).label(column.name) if column.name in READ_AS_TEXT else column
        for column in debates.c
        if column.name in debate_rows.columns
    ),
    literal_column(SCHEDULE_OF_DEBATE, Text).label("schedule"),
    past_deadline,
    past_waiting,
]
situation_columns = [column for column in debate_columns if column.name in situation_rows.columns]
turn_columns: list[ColumnElement[Any]] = [turns.c[name] for name in turn_rows.columns]
