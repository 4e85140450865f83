"""Sessions of browsers: the operator's, and those that an invitation began (guests, blind judges). Only hashes are
stored: of the cookie's secret, and of the invitation's token."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    LargeBinary,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY

from app.core.access import Agent, Caller
from app.store.ids import new_id
from app.store.tables import agents, sessions

MOST_ISSUED = 1000
"""Invitations in one list."""
AMONG = func.any(bindparam("hashes", type_=ARRAY(LargeBinary)))


@dataclass(frozen=True, slots=True)
class IssuedInvitation:
    """An invitation, as its issuer sees it. Its token is not stored."""

    id: UUID
    to: str
    """The role in a debate, or the judge's name."""
    invited_by: str
    issuer_id: UUID | None
    """None for the operator's."""
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Invitations:
    """Those of one table, with the sessions that they began. Their attributes are named by their columns."""

    table: Table
    sessions: Table

    def add(
        self, connection: Connection, token_hash: bytes, issuer: Caller, lasts: timedelta, **about: Any
    ) -> IssuedInvitation:
        values = {"id": new_id(), "token_hash": token_hash, "invited_by": issuer.name, **about}
        if isinstance(issuer, Agent):
            values |= {"issuer_id": issuer.id, "issuer_key": issuer.credential}
        statement = insert(self.table).values(**values, expires_at=func.clock_timestamp() + lasts)
        return IssuedInvitation(*connection.execute(statement.returning(*self._issued)).one())

    @property
    def _issued(self) -> list[ColumnElement[Any]]:
        made = self.table.c
        to = made.role if "role" in made else made.judge
        return [made.id, to, *(made[name] for name in ("invited_by", "issuer_id", "created_at", "expires_at"))]

    def _with(self, about: dict[str, Any]) -> list[ColumnElement[bool]]:
        return [self.table.c[name] == value for name, value in about.items()]

    def issued(self, connection: Connection, **about: Any) -> list[IssuedInvitation]:
        """The latest of those that still open something: with a link that can be used, or with a session."""
        made, begun = self.table.c, self.sessions.c
        has_session = select(begun.hash).where(begun.invitation_id == made.id, begun.expires_at > func.now())
        opens = self.in_force, or_(made.expires_at > func.now(), has_session.exists())
        latest = select(*self._issued).where(*self._with(about), *opens).order_by(made.created_at.desc())
        return [IssuedInvitation(*row) for row in connection.execute(latest.limit(MOST_ISSUED))]

    def get(self, connection: Connection, **about: Any) -> IssuedInvitation | None:
        row = connection.execute(select(*self._issued).where(*self._with(about))).one_or_none()
        return IssuedInvitation(*row) if row else None

    def revoke(self, connection: Connection, invitation_id: UUID) -> None:
        """Idempotent. Ends its link, its key and its sessions."""
        revoked_at = func.coalesce(self.table.c.revoked_at, func.clock_timestamp())
        connection.execute(update(self.table).where(self.table.c.id == invitation_id).values(revoked_at=revoked_at))

    @property
    def in_force(self) -> ColumnElement[bool]:
        """Neither revoked nor ended with the key of the agent that issued it. It may have expired."""
        made = self.table.c
        has_key = select(agents.c.id).where(agents.c.key_hash == made.issuer_key, agents.c.revoked_at.is_(None))
        return and_(made.revoked_at.is_(None), or_(made.issuer_key.is_(None), has_key.exists()))

    def begin_session(self, connection: Connection, invitation_id: UUID, session_hash: bytes, lasts: timedelta) -> None:
        begin(connection, session_hash, lasts, self.sessions, invitation_id=invitation_id)

    def of_session(self, *columns: str) -> Select[Any]:
        """These columns of the invitation that the session with `:hash` began with, if neither has ended."""
        begun = self.sessions.c
        is_it = begun.hash == bindparam("hash", type_=LargeBinary), begun.expires_at > func.clock_timestamp()
        joined = self.sessions, begun.invitation_id == self.table.c.id
        return select(*(self.table.c[name] for name in columns)).join(*joined).where(*is_it, self.in_force)

    @property
    def valid_sessions(self) -> Select[tuple[bytes]]:
        of_invitation = self.sessions.c.invitation_id == self.table.c.id
        return unexpired(self.sessions).join(self.table, of_invitation).where(self.in_force)


def begin(
    connection: Connection, session_hash: bytes, lasts: timedelta, table: Table = sessions, **invitation: Any
) -> None:
    """Also deletes all expired sessions of the table."""
    connection.execute(delete(table).where(table.c.expires_at < func.now()))
    expires_at = func.clock_timestamp() + lasts
    connection.execute(insert(table).values(hash=session_hash, expires_at=expires_at, **invitation))


def end(connection: Connection, session_hash: bytes) -> None:
    connection.execute(delete(sessions).where(sessions.c.hash == session_hash))


def unexpired(table: Table) -> Select[tuple[bytes]]:
    return select(table.c.hash).where(table.c.hash == AMONG, table.c.expires_at > func.now())


def valid_among(connection: Connection, statement: Executable, hashes: Collection[bytes]) -> set[bytes]:
    """The hashes among these that the statement, which compares with `AMONG`, selects."""
    return {bytes(found) for found in connection.execute(statement, {"hashes": list(hashes)}).scalars()}


VALID = unexpired(sessions)
"""The operator's sessions that have neither ended nor expired."""
