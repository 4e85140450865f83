"""Invitations and the sessions of guests. Tokens and secrets are 256 random bits: one SHA-256 protects them, as in
`app.store.agents`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection, LargeBinary, bindparam, func, select, union_all

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
    expires_at: datetime
    is_expired: bool

    @property
    def seat(self) -> Seat | None:
        return None if self.role == WATCHER else Seat(self.role)


def add(
    connection: Connection, debate_id: UUID, role: str, token_hash: bytes, invited_by: str, lasts: timedelta
) -> datetime:
    """Returns when it expires."""
    return sessions.invite(connection, invitations, token_hash, invited_by, lasts, debate_id=debate_id, role=role)


def of_token(connection: Connection, token_hash: bytes) -> Invitation | None:
    row = connection.execute(_OF_TOKEN, {"token_hash": token_hash}).one_or_none()
    return Invitation(*row) if row else None


def begin_session(connection: Connection, invitation_id: UUID, session_hash: bytes, lasts: timedelta) -> None:
    sessions.begin(connection, session_hash, lasts, guest_sessions, invitation_id=invitation_id)


def of_session(connection: Connection, session_hash: bytes) -> Guest | None:
    row = connection.execute(_OF_SESSION, {"hash": session_hash}).one_or_none()
    if row is None:
        return None
    return Guest(row.id, row.debate_id, None if row.role == WATCHER else Seat(row.role), session_hash)


def of_key(connection: Connection, key: str) -> Guest | None:
    """None for an unknown or expired one."""
    token_hash = hash_of(key.removeprefix(SEAT_KEY_PREFIX))
    found = of_token(connection, token_hash)
    return None if found is None or found.is_expired else Guest(found.id, found.debate_id, found.seat, token_hash)


_OF_TOKEN = (
    select(
        invitations.c.id,
        invitations.c.debate_id,
        debates.c.title,
        invitations.c.role,
        invitations.c.invited_by,
        invitations.c.expires_at,
        invitations.c.expires_at <= func.clock_timestamp(),
    )
    .join(debates, debates.c.id == invitations.c.debate_id)
    .where(invitations.c.token_hash == bindparam("token_hash", type_=LargeBinary))
)
_OF_SESSION = sessions.of_hash(
    guest_sessions, invitations, invitations.c.id, invitations.c.debate_id, invitations.c.role
)
VALID = union_all(
    sessions.unexpired(guest_sessions),
    select(invitations.c.token_hash).where(
        invitations.c.token_hash == sessions.AMONG, invitations.c.expires_at > func.now()
    ),
)
"""The sessions and tokens that have neither ended nor expired."""
