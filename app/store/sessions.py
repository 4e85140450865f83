"""Sessions of browsers that signed in. Only a hash of the cookie's secret is stored."""

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import Connection, LargeBinary, bindparam, delete, func, insert, select
from sqlalchemy.dialects.postgresql import ARRAY

from app.store.tables import sessions


def begin(connection: Connection, session_hash: bytes, lasts: timedelta) -> None:
    """Also deletes all expired sessions."""
    connection.execute(delete(sessions).where(sessions.c.expires_at < func.now()))
    connection.execute(insert(sessions).values(hash=session_hash, expires_at=func.now() + lasts))


def end(connection: Connection, session_hash: bytes) -> None:
    connection.execute(delete(sessions).where(sessions.c.hash == session_hash))


def valid_among(connection: Connection, hashes: Collection[bytes]) -> set[bytes]:
    """The sessions among these that have neither ended nor expired."""
    return {bytes(found) for found in connection.execute(_VALID_AMONG, {"hashes": list(hashes)}).scalars()}


_VALID_AMONG = select(sessions.c.hash).where(
    sessions.c.hash == func.any(bindparam("hashes", type_=ARRAY(LargeBinary))), sessions.c.expires_at > func.now()
)
