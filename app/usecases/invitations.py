"""Invitations: a link that opens one debate, and one of its seats, in a browser."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from app.core import holding
from app.core.access import Action, Caller, Guest, require, require_control
from app.core.errors import ActionNotAllowed, NotFound
from app.core.events import EventKind, NewEvent
from app.core.seats import Seat
from app.store import debates, events, invitations
from app.store.agents import hash_of
from app.store.engine import Connection
from app.store.invitations import SEAT_KEY_PREFIX, WATCHER, Invitation
from app.usecases.announce import state_changed
from app.usecases.services import Services
from app.usecases.transactions import (
    lock_existing,
    lock_to_change,
    repeated_on_conflict,
    spoke_from,
    transaction,
)

log = structlog.get_logger(__name__)

LINK_LIFETIME = timedelta(days=7)
GUEST_LIFETIME = timedelta(days=30)
"""The lifetime of a session that begins with an invitation."""


@dataclass(frozen=True, slots=True)
class NewInvitation:
    token: str
    """Shown once, in the link and in the key."""
    expires_at: datetime

    @property
    def key(self) -> str:
        return SEAT_KEY_PREFIX + self.token


@repeated_on_conflict
def invite(services: Services, caller: Caller, debate_id: UUID, role: str, lasts: timedelta | None) -> NewInvitation:
    require(caller, Action.CONTROL)
    token = secrets.token_urlsafe(32)
    with transaction(services, caller, "control") as connection:
        debate = lock_to_change(connection, caller, debate_id)
        require_control(caller, debate.seats, spoke_from(connection, caller, debate_id))
        if role != WATCHER:
            # A person may always rule in the judge's place, whatever player fills that seat.
            filled = debate.seats[Seat(role)].player if role != Seat.ARBITRATOR else None
            if debate.is_closed or not (filled is None or debate.seats[Seat(role)].is_external):
                raise ActionNotAllowed(
                    "A closed debate has no seats to offer" if debate.is_closed else f"That seat is filled by {filled}",
                    current_state=debate.state,
                    allowed_roles=[],
                    suggestion="Invite a watcher, or to an external seat",
                )
        expires_at = invitations.add(connection, debate_id, role, hash_of(token), caller.name, lasts or LINK_LIFETIME)
    log.info("invitation.made", debate_id=str(debate_id), role=role, by=caller.name)
    return NewInvitation(token, expires_at)


def look_at(services: Services, token: str) -> Invitation:
    """Raises NotFound, in words, for one that is unknown, revoked or expired."""
    with services.engine.statements() as connection:
        return _found(connection, token)


@repeated_on_conflict
def accept(services: Services, token: str) -> tuple[Guest, str]:
    """Begins a session, and takes the seat where it is an open one. Returns the guest and the secret for the cookie."""
    secret = secrets.token_urlsafe(32)
    with transaction(services, None, "control") as connection:
        invitation = _found(connection, token)
        locked = lock_existing(connection, invitation.debate_id)
        guest = Guest(invitation.id, invitation.debate_id, invitation.seat, hash_of(secret))
        after = locked
        if invitation.seat is not None and locked.seats[invitation.seat].is_external and not locked.is_closed:
            after = holding.take(locked, guest, invitation.seat)
            if after is not locked:
                after = debates.save_holder(connection, after, invitation.seat)
                taken = NewEvent(EventKind.SEAT_TAKEN, guest.name, {"role": invitation.role})
                events.add(connection, invitation.debate_id, taken)
        invitations.begin_session(connection, invitation.id, hash_of(secret), GUEST_LIFETIME)
    log.info("invitation.accepted", debate_id=str(invitation.debate_id), role=invitation.role)
    if after is not locked:
        services.teller.publish(state_changed(after))
    return guest, secret


def guest_of_session(services: Services, secret: str) -> Guest | None:
    with services.engine.statements() as connection:
        return invitations.of_session(connection, hash_of(secret))


def _found(connection: Connection, token: str) -> Invitation:
    found = invitations.of_token(connection, hash_of(token))
    if found is None:
        raise NotFound("This invitation is not valid: it may have been revoked, or its debate deleted")
    if found.is_expired:
        raise NotFound("This invitation has expired: ask for a new one")
    return found
