"""Invitations to debates, and the sessions of guests."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, LargeBinary, bindparam, func, select, union_all, update

from app.core.access import Guest
from app.core.seats import Seat
from app.store import sessions
from app.store.agents import hash_of
from app.store.tables import debates, guest_sessions, invitations

SEAT_KEY_PREFIX = "dbs_"
"""The prefix that turns an invitation's token into a key for one seat, which programs send."""
WATCHER = "watcher"
"""The role of an invitation without a seat."""


@dataclass(frozen=True, slots=True)
class Invitation:
    id: UUID
    debate_id: UUID
    title: str
    role: str
    invited_by: str
    issuer_id: UUID | None
    """The agent that issued it; None for the operator."""
    expires_at: datetime
    is_expired: bool

    @property
    def seat(self) -> Seat | None:
        return seat_of(self.role)


LINKS = sessions.Invitations(invitations, guest_sessions)


def let_only_watch(connection: Connection, invitation_id: UUID) -> None:
    """Of an invitation to a seat remains what a watcher has."""
    connection.execute(update(invitations).where(invitations.c.id == invitation_id).values(role=WATCHER))


def role_now(connection: Connection, invitation_id: UUID) -> str | None:
    """None for one that has ended."""
    role: str | None = connection.execute(_ROLE, {"id": invitation_id}).scalar_one_or_none()
    return role


def of_token(connection: Connection, token_hash: bytes) -> Invitation | None:
    row = connection.execute(_OF_TOKEN, {"token_hash": token_hash}).one_or_none()
    return Invitation(*row) if row else None


def of_session(connection: Connection, session_hash: bytes) -> Guest | None:
    row = connection.execute(_OF_SESSION, {"hash": session_hash}).one_or_none()
    if row is None:
        return None
    return Guest(row.id, row.debate_id, seat_of(row.role), session_hash, row.issuer_id)


def seat_of(role: str) -> Seat | None:
    return None if role == WATCHER else Seat(role)


def of_key(connection: Connection, key: str) -> Guest | None:
    """None for an unknown or expired one."""
    token_hash = hash_of(key.removeprefix(SEAT_KEY_PREFIX))
    found = of_token(connection, token_hash)
    if found is None or found.is_expired:
        return None
    return Guest(found.id, found.debate_id, found.seat, token_hash, found.issuer_id)


_OF_TOKEN = (
    select(
        invitations.c.id,
        invitations.c.debate_id,
        debates.c.title,
        invitations.c.role,
        invitations.c.invited_by,
        invitations.c.issuer_id,
        invitations.c.expires_at,
        invitations.c.expires_at <= func.clock_timestamp(),
    )
    .join(debates, debates.c.id == invitations.c.debate_id)
    .where(invitations.c.token_hash == bindparam("token_hash", type_=LargeBinary), LINKS.in_force)
)
_ROLE = select(invitations.c.role).where(invitations.c.id == bindparam("id"), LINKS.in_force)
_OF_SESSION = LINKS.of_session("id", "debate_id", "role", "issuer_id")
VALID = union_all(
    LINKS.valid_sessions,
    select(invitations.c.token_hash).where(
        invitations.c.token_hash == sessions.AMONG,
        invitations.c.expires_at > func.now(),
        LINKS.in_force,
    ),
)
"""The sessions and tokens that have neither ended nor expired."""
