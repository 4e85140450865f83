"""Taking and releasing an open external seat."""

from collections.abc import Callable
from uuid import UUID

import structlog

from app.core import seat_ownership
from app.core.access import Action, Caller, Guest, invitation_held_by, require, require_debate
from app.core.debate import Debate
from app.core.events import EventKind, NewEvent
from app.core.seats import Seat
from app.store import debates, events, invitations
from app.store.engine import Connection
from app.usecases.announce import state_changed
from app.usecases.services import Services
from app.usecases.transactions import lock_to_change, repeated_on_conflict, spoke_from, transaction, with_seat_now

log = structlog.get_logger(__name__)


def take_seat(services: Services, caller: Caller, debate_id: UUID, seat: Seat) -> Debate:
    def take(connection: Connection, debate: Debate, caller: Caller) -> Debate:
        return seat_ownership.take(debate, caller, seat, spoke_from(connection, caller, debate_id))

    return _change(services, caller, debate_id, seat, take)


def release_seat(services: Services, caller: Caller, debate_id: UUID, seat: Seat) -> Debate:
    """A guest whose seat another caller releases only watches from then on."""

    def release(connection: Connection, debate: Debate, caller: Caller) -> Debate:
        after = seat_ownership.release(debate, caller, seat)
        invitation_id = invitation_held_by(debate.seats[seat])
        if invitation_id is not None and not isinstance(caller, Guest):
            invitations.let_only_watch(connection, invitation_id)
        return after

    return _change(services, caller, debate_id, seat, release)


@repeated_on_conflict
def _change(
    services: Services,
    caller: Caller,
    debate_id: UUID,
    seat: Seat,
    change: Callable[[Connection, Debate, Caller], Debate],
) -> Debate:
    require(caller, Action.RULE if seat is Seat.ARBITRATOR else Action.SPEAK)
    with transaction(services, caller, "control") as connection:
        require_debate(caller, debate_id)
        locked = lock_to_change(connection, caller, debate_id)
        after = change(connection, locked, with_seat_now(connection, caller))
        if after is locked:
            return after
        after = debates.save_holder(connection, after, seat)
        kind = EventKind.SEAT_TAKEN if after.seats[seat].holder else EventKind.SEAT_RELEASED
        events.add(connection, debate_id, NewEvent(kind, caller.name, {"role": seat.role}))
    if after.seats[seat].holder:
        log.info("seat.taken", debate_id=str(debate_id), seat=seat.role, by=caller.name)
    else:
        log.info("seat.released", debate_id=str(debate_id), seat=seat.role, by=caller.name)
    services.publisher.publish(state_changed(after))
    return after
