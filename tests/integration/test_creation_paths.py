"""A debate is stored in one statement, or in a transaction where agents have to be looked at: with the same outcome."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness import Place

from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.formats import Format
from app.core.players import SCRIPTED, SeatSetup
from app.core.seats import Seat
from app.store import creation, debates, turns
from app.usecases import read
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services

_OF_ITS_OWN = ("id", "debate_id", "created_at", "updated_at", "due_at", "queued_at")


_STORED = (
    "SELECT to_jsonb(debates), to_jsonb(turns) FROM debates JOIN turns ON turns.debate_id = debates.id"
    " WHERE debates.id = %s"
)


def _stored(place: Place, debate_id: UUID) -> list[dict[str, Any]]:
    """The debate's row and its motion's. Moments differ; whether there is one does not."""
    [rows] = place.sql(_STORED, debate_id)
    return [{name: value is None if name in _OF_ITS_OWN else value for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("format_", list(Format))
def test_both_ways_to_create_a_debate_write_the_same(place: Place, services: Services, format_: Format) -> None:
    seats = {Seat.OPPONENT: SeatSetup(SCRIPTED, persona="Curt", think_seconds=600.0)}
    limits = Limits(max_rounds=4, max_seconds=90)
    new = NewDebate("Title", "general_debate", "Motion", "request", None, format_, seats, limits)
    stored = create_debate(services, OPERATOR, new)
    assert read.get_transcript(services, stored.debate.id, None).debate == stored.debate
    other, motion_id = uuid4(), uuid4()
    with services.engine.begin() as connection:
        made = debates.insert_debate(connection, stored.debate.evolve(id=other))
        turns.insert_turns(connection, [replace(stored.turn, id=motion_id, debate_id=other)])
    assert made is not None
    assert _stored(place, other) == _stored(place, stored.debate.id)


def test_an_id_that_is_taken_stores_nothing(place: Place, services: Services) -> None:
    stored = create_debate(services, OPERATOR, NewDebate("Title", "general_debate", "Motion", "request"))
    assert creation.create(services.engine, stored.debate, replace(stored.turn, id=uuid4())) is None
    assert place.sql("SELECT count(*) FROM turns") == [(1,)]
