"""Invitations: a link that opens one debate, and one of its seats, in a browser."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from app.core import seat_ownership
from app.core.access import (
    Action,
    Caller,
    Guest,
    invitation_held_by,
    is_issuer,
    require,
    require_invitation,
    require_issuer,
)
from app.core.errors import ActionNotAllowed, NotFound, or_raise
from app.core.events import EventKind, NewEvent
from app.core.seats import Seat
from app.store import debates, events, invitations
from app.store.agents import hash_of
from app.store.engine import Connection
from app.store.invitations import SEAT_KEY_PREFIX, WATCHER, Invitation
from app.store.sessions import IssuedInvitation
from app.usecases.announce import state_changed
from app.usecases.read import existing
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


@dataclass(frozen=True, slots=True)
class NewInvitation:
    id: UUID
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
        seat = invitations.seat_of(role)
        require_invitation(caller, seat, debate.seats, spoke_from(connection, caller, debate_id))
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
        made = invitations.LINKS.add(
            connection, hash_of(token), caller, lasts or LINK_LIFETIME, debate_id=debate_id, role=role
        )
    log.info("invitation.made", debate_id=str(debate_id), role=role, by=caller.name)
    return NewInvitation(made.id, token, made.expires_at)


def list_issued(services: Services, caller: Caller, debate_id: UUID) -> list[IssuedInvitation]:
    require(caller, Action.CONTROL)
    with services.engine.statements() as connection:
        existing(connection, debate_id)
        return [
            one for one in invitations.LINKS.issued(connection, debate_id=debate_id) if is_issuer(caller, one.issuer_id)
        ]


@repeated_on_conflict
def revoke(services: Services, caller: Caller, debate_id: UUID, invitation_id: UUID) -> None:
    """Ends its link, its key and its sessions, and releases the seat that its guest holds."""
    require(caller, Action.CONTROL)
    with transaction(services, caller, "control") as connection:
        locked = lock_existing(connection, debate_id)
        invitation = or_raise(
            invitations.LINKS.get(connection, id=invitation_id, debate_id=debate_id), unknown(invitation_id)
        )
        require_issuer(caller, invitation.issuer_id)
        invitations.LINKS.revoke(connection, invitation_id)
        after = locked
        for seat in Seat:
            if invitation_held_by(locked.seats[seat]) == invitation_id and not locked.is_closed:
                after = debates.save_holder(connection, seat_ownership.freed(locked, seat), seat)
                events.add(connection, debate_id, NewEvent(EventKind.SEAT_RELEASED, caller.name, {"role": seat.role}))
    log.info("invitation.revoked", debate_id=str(debate_id), invitation_id=str(invitation_id), by=caller.name)
    if after is not locked:
        services.publisher.publish(state_changed(after))


def unknown(invitation_id: UUID) -> NotFound:
    return NotFound(f"There is no invitation {invitation_id} here")


def look_at(services: Services, token: str) -> Invitation:
    """Raises NotFound for one that is unknown, revoked or expired."""
    with services.engine.statements() as connection:
        return _found(connection, token)


@repeated_on_conflict
def accept(services: Services, token: str) -> tuple[Guest, str]:
    """Begins a session, and takes the seat where it is an open one. Returns the guest and the secret for the cookie."""
    secret = secrets.token_urlsafe(32)
    with transaction(services, None, "control") as connection:
        locked = lock_existing(connection, _found(connection, token).debate_id)
        invitation = _found(connection, token)  # as it is under the lock
        guest = Guest(invitation.id, invitation.debate_id, invitation.seat, hash_of(secret), invitation.issuer_id)
        after = locked
        if invitation.seat is not None and locked.seats[invitation.seat].is_external and not locked.is_closed:
            after = seat_ownership.take(locked, guest, invitation.seat)
            if after is not locked:
                after = debates.save_holder(connection, after, invitation.seat)
                taken = NewEvent(EventKind.SEAT_TAKEN, guest.name, {"role": invitation.role})
                events.add(connection, invitation.debate_id, taken)
        invitations.LINKS.begin_session(connection, invitation.id, hash_of(secret), GUEST_LIFETIME)
    log.info("invitation.accepted", debate_id=str(invitation.debate_id), role=invitation.role)
    if after is not locked:
        services.publisher.publish(state_changed(after))
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
