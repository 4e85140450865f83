"""Invitations and the sessions of guests. Tokens and secrets are 256 random bits: one SHA-256 protects them, as in
`app.store.agents`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection, LargeBinary, bindparam, func, select, union_all, update

from app.core.access import Caller, Guest
from app.core.seats import Seat
from app.store import sessions
from app.store.agents import hash_of
from app.store.sessions import IssuedInvitation
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


def add(
    connection: Connection, debate_id: UUID, role: str, token_hash: bytes, issuer: Caller, lasts: timedelta
) -> IssuedInvitation:
    return sessions.invite(connection, invitations, token_hash, issuer, lasts, debate_id=debate_id, role=role)


def of_debate(connection: Connection, debate_id: UUID) -> list[IssuedInvitation]:
    return sessions.issued(connection, invitations, guest_sessions, invitations.c.debate_id == debate_id)


def of_id(connection: Connection, debate_id: UUID, invitation_id: UUID) -> IssuedInvitation | None:
    return sessions.of_id(
        connection, invitations, invitations.c.debate_id == debate_id, invitations.c.id == invitation_id
    )


def revoke(connection: Connection, invitation_id: UUID) -> None:
    sessions.revoke(connection, invitations, invitation_id)


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


def begin_session(connection: Connection, invitation_id: UUID, session_hash: bytes, lasts: timedelta) -> None:
    sessions.begin(connection, session_hash, lasts, guest_sessions, invitation_id=invitation_id)


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
    .where(invitations.c.token_hash == bindparam("token_hash", type_=LargeBinary), sessions.in_force(invitations))
)
_ROLE = select(invitations.c.role).where(invitations.c.id == bindparam("id"), sessions.in_force(invitations))
_OF_SESSION = sessions.of_hash(
    guest_sessions, invitations, *(invitations.c[name] for name in ("id", "debate_id", "role", "issuer_id"))
)
VALID = union_all(
    sessions.unexpired_of(guest_sessions, invitations),
    select(invitations.c.token_hash).where(
        invitations.c.token_hash == sessions.AMONG,
        invitations.c.expires_at > func.now(),
        sessions.in_force(invitations),
    ),
)
"""The sessions and tokens that have neither ended nor expired."""
