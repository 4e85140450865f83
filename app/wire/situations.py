"""The reverse of the part of a debate's JSON that says who may act: for clients, and for the relay's memory."""

from datetime import datetime
from typing import Any

from app.core.debate import Cursor, Limits, Situation, State, Status, StopReason
from app.core.players import SeatSetup
from app.core.schedule_files import schedule_of_json
from app.core.schedules import BUILT_IN, Schedule
from app.core.seats import Seat


def schedule_of(debate: dict[str, Any]) -> Schedule:
    written = debate.get("schedule")
    return schedule_of_json(written) if written else BUILT_IN[debate["format"]]


def situation_of(debate: dict[str, Any]) -> Situation:
    """Whether the deadline of a seat has passed is not in the JSON: only the database's clock decides that."""
    closing, deadline = debate.get("closing"), debate.get("waiting_until")
    return Situation(
        schedule=schedule_of(debate),
        status=Status(debate["status"]),
        cursor=Cursor(debate["next_round"], Seat.of_actor(debate["next_actor"])),
        seats={Seat(role): SeatSetup(seat["player"]) for role, seat in debate["seats"].items()},
        limits=Limits(max_rounds=debate["limits"]["max_rounds"]),
        intervention_open=debate["state"] == State.INTERVENTION_PENDING,
        closing=StopReason(closing) if closing else None,
        waits_for_start=debate.get("waits_for_start", False),
        waiting_until=datetime.fromisoformat(deadline) if deadline else None,
    )
