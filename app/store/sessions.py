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


def invite(
    connection: Connection, table: Table, token_hash: bytes, issuer: Caller, lasts: timedelta, **about: Any
) -> IssuedInvitation:
    """Stores an invitation in its table."""
    values = {"id": new_id(), "token_hash": token_hash, "invited_by": issuer.name, **about}
    if isinstance(issuer, Agent):
        values |= {"issuer_id": issuer.id, "issuer_key": issuer.credential}
    statement = insert(table).values(**values, expires_at=func.clock_timestamp() + lasts)
    return IssuedInvitation(*connection.execute(statement.returning(*_issued(table))).one())


def _issued(table: Table) -> list[ColumnElement[Any]]:
    to = table.c.role if "role" in table.c else table.c.judge
    return [table.c.id, to, *(table.c[name] for name in ("invited_by", "issuer_id", "created_at", "expires_at"))]


def issued(
    connection: Connection, table: Table, sessions_: Table, *where: ColumnElement[bool]
) -> list[IssuedInvitation]:
    """The latest of those that still open something: with a link that can be used, or with a session."""
    has_session = select(sessions_.c.hash).where(
        sessions_.c.invitation_id == table.c.id, sessions_.c.expires_at > func.now()
    )
    opens = in_force(table), or_(table.c.expires_at > func.now(), has_session.exists())
    latest = select(*_issued(table)).where(*where, *opens).order_by(table.c.created_at.desc()).limit(MOST_ISSUED)
    return [IssuedInvitation(*row) for row in connection.execute(latest)]


def of_id(connection: Connection, table: Table, *where: ColumnElement[bool]) -> IssuedInvitation | None:
    row = connection.execute(select(*_issued(table)).where(*where)).one_or_none()
    return IssuedInvitation(*row) if row else None


def revoke(connection: Connection, table: Table, invitation_id: UUID) -> None:
    """Idempotent. Ends its link, its key and its sessions."""
    revoked_at = func.coalesce(table.c.revoked_at, func.clock_timestamp())
    connection.execute(update(table).where(table.c.id == invitation_id).values(revoked_at=revoked_at))


def in_force(table: Table) -> ColumnElement[bool]:
    """Neither revoked nor ended with the key of the agent that issued it. It may have expired."""
    has_key = select(agents.c.id).where(agents.c.key_hash == table.c.issuer_key, agents.c.revoked_at.is_(None))
    return and_(table.c.revoked_at.is_(None), or_(table.c.issuer_key.is_(None), has_key.exists()))


def begin(
    connection: Connection, session_hash: bytes, lasts: timedelta, table: Table = sessions, **invitation: Any
) -> None:
    """Also deletes all expired sessions of the table."""
    connection.execute(delete(table).where(table.c.expires_at < func.now()))
    expires_at = func.clock_timestamp() + lasts
    connection.execute(insert(table).values(hash=session_hash, expires_at=expires_at, **invitation))


def end(connection: Connection, session_hash: bytes) -> None:
    connection.execute(delete(sessions).where(sessions.c.hash == session_hash))


def of_hash(table: Table, invited: Table, *columns: ColumnElement[Any]) -> Select[Any]:
    """These columns of the invitation that a session of the table began with, if neither has ended."""
    has_hash = table.c.hash == bindparam("hash", type_=LargeBinary)
    is_it = has_hash, table.c.expires_at > func.clock_timestamp(), in_force(invited)
    return select(*columns).join(table, table.c.invitation_id == invited.c.id).where(*is_it)


def unexpired(table: Table) -> Select[tuple[bytes]]:
    return select(table.c.hash).where(table.c.hash == AMONG, table.c.expires_at > func.now())


def unexpired_of(table: Table, invited: Table) -> Select[tuple[bytes]]:
    """Those of the table that has the sessions of an invitation, which has not ended either."""
    return unexpired(table).join(invited, table.c.invitation_id == invited.c.id).where(in_force(invited))


def valid_among(connection: Connection, statement: Executable, hashes: Collection[bytes]) -> set[bytes]:
    """The hashes among these that the statement, which compares with `AMONG`, selects."""
    return {bytes(found) for found in connection.execute(statement, {"hashes": list(hashes)}).scalars()}


VALID = unexpired(sessions)
"""The operator's sessions that have neither ended nor expired."""
