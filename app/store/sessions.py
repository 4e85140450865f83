"""Sessions of browsers: the operator's, and those that an invitation began (guests, blind judges). Only hashes are
stored: of the cookie's secret, and of the invitation's token."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    LargeBinary,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY

from app.store.ids import new_id
from app.store.tables import sessions

AMONG = func.any(bindparam("hashes", type_=ARRAY(LargeBinary)))


def invite(
    connection: Connection, table: Table, token_hash: bytes, invited_by: str, lasts: timedelta, **about: Any
) -> datetime:
    """Stores an invitation in its table; returns when it expires."""
    values = {"id": new_id(), "token_hash": token_hash, "invited_by": invited_by, **about}
    statement = insert(table).values(**values, expires_at=func.clock_timestamp() + lasts)
    expires_at: datetime = connection.execute(statement.returning(table.c.expires_at)).scalar_one()
    return expires_at


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
    """These columns of the invitation that a session of the table began with, if it has not expired."""
    is_it = table.c.hash == bindparam("hash", type_=LargeBinary), table.c.expires_at > func.clock_timestamp()
    return select(*columns).join(table, table.c.invitation_id == invited.c.id).where(*is_it)


def unexpired(table: Table) -> Select[tuple[bytes]]:
    return select(table.c.hash).where(table.c.hash == AMONG, table.c.expires_at > func.now())


def valid_among(connection: Connection, statement: Executable, hashes: Collection[bytes]) -> set[bytes]:
    """The hashes among these that the statement, which compares with `AMONG`, selects."""
    return {bytes(found) for found in connection.execute(statement, {"hashes": list(hashes)}).scalars()}


VALID = unexpired(sessions)
"""The operator's sessions that have neither ended nor expired."""
