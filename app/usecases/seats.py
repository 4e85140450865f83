"""Taking an open external seat, and giving it back."""

from collections.abc import Callable
from uuid import UUID

import structlog

from app.core import holding
from app.core.access import Action, Caller, require, require_debate
from app.core.debate import Debate
from app.core.events import EventKind, NewEvent
from app.core.seats import Seat
from app.store import debates, events
from app.store.engine import Connection
from app.usecases.announce import state_changed
from app.usecases.services import Services
from app.usecases.transactions import lock_to_change, repeated_on_conflict, spoke_from, transaction

log = structlog.get_logger(__name__)


def take_seat(services: Services, caller: Caller, debate_id: UUID, seat: Seat) -> Debate:
    return _change(
        services,
        caller,
        debate_id,
        seat,
        lambda connection, debate: holding.take(debate, caller, seat, spoke_from(connection, caller, debate_id)),
    )


def release_seat(services: Services, caller: Caller, debate_id: UUID, seat: Seat) -> Debate:
    return _change(services, caller, debate_id, seat, lambda _, debate: holding.release(debate, caller, seat))


@repeated_on_conflict
def _change(
    services: Services,
    caller: Caller,
    debate_id: UUID,
    seat: Seat,
    change: Callable[[Connection, Debate], Debate],
) -> Debate:
    require(caller, Action.RULE if seat is Seat.ARBITRATOR else Action.SPEAK)
    with transaction(services, caller, "control") as connection:
        require_debate(caller, debate_id)
        locked = lock_to_change(connection, caller, debate_id)
        after = change(connection, locked)
        if after is locked:
            return after
        after = debates.save_holder(connection, after, seat)
        kind = EventKind.SEAT_TAKEN if after.seats[seat].holder else EventKind.SEAT_RELEASED
        events.add(connection, debate_id, NewEvent(kind, caller.name, {"role": seat.role}))
    if after.seats[seat].holder:
        log.info("seat.taken", debate_id=str(debate_id), seat=seat.role, by=caller.name)
    else:
        log.info("seat.released", debate_id=str(debate_id), seat=seat.role, by=caller.name)
    services.teller.publish(state_changed(after))
    return after
