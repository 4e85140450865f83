"""Agents and their keys. A key is 256 random bits, so one SHA-256 protects it as well as a slow password hash."""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, func, insert, null, select, update
from sqlalchemy.exc import IntegrityError

from app.core.access import Agent, Scope
from app.store.mapping import Mapped, Stored
from app.store.sessions import AMONG
from app.store.tables import agents

KEY_PREFIX = "dbr_"
"""Lets people and secret scanners recognise a key."""
_RANDOM_BYTES = 32
_HINT_LENGTH = len(KEY_PREFIX) + 4


@dataclass(frozen=True, slots=True)
class NewKey:
    secret: str = field(repr=False)
    """Shown once, to the operator who asked for it, and never stored."""

    @property
    def hash(self) -> bytes:
        return hash_of(self.secret)

    @property
    def hint(self) -> str:
        """Distinguishes two keys, and is far too short to guess one."""
        return self.secret[:_HINT_LENGTH]


def new_key() -> NewKey:
    return NewKey(KEY_PREFIX + secrets.token_urlsafe(_RANDOM_BYTES))


def hash_of(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def same(one: str, other: str) -> bool:
    """Compares two secrets in constant time, whatever their lengths: it compares their hashes."""
    return hmac.compare_digest(hash_of(one), hash_of(other))


NAME_KEY = "agents_one_per_username"


class UsernameTaken(Exception):
    """Another agent has this name."""


@dataclass(frozen=True, slots=True)
class AgentRecord:
    id: UUID
    username: str
    display_name: str | None
    scopes: frozenset[Scope]
    key_hint: str
    created_at: datetime
    key_created_at: datetime
    revoked_at: datetime | None


agent_rows = Mapped(AgentRecord, scopes=Stored("scopes", lambda given: frozenset(map(Scope, given)), sorted))
_columns = [agents.c[name] for name in agent_rows.columns]


def insert_agent(
    connection: Connection,
    agent_id: UUID,
    username: str,
    display_name: str | None,
    scopes: Collection[Scope],
    key: NewKey,
) -> AgentRecord:
    values = {
        "id": agent_id,
        "username": username,
        "display_name": display_name,
        "scopes": sorted(scopes),
        "key_hash": key.hash,
        "key_hint": key.hint,
    }
    try:
        [made] = agent_rows.all(connection, insert(agents).values(values).returning(*_columns))
        return made
    except IntegrityError as conflict:
        if conflict.orig.diag.constraint_name == NAME_KEY:  # type: ignore[union-attr]
            raise UsernameTaken(username) from conflict
        raise


def of_key(connection: Connection, key: str) -> Agent | None:
    """The agent that has this key, unless the key was revoked. The lookup is by hash, so its timing reveals nothing."""
    wanted = hash_of(key)
    row = connection.execute(_OF_KEY, {"key_hash": wanted}).one_or_none()
    if row is None or not hmac.compare_digest(row.key_hash, wanted):
        return None
    return Agent(row.id, row.username, frozenset(map(Scope, row.scopes)), row.display_name, row.key_hash)


def revoke(connection: Connection, agent_id: UUID) -> AgentRecord | None:
    """Idempotent."""
    revoked_at = func.coalesce(agents.c.revoked_at, func.clock_timestamp())
    return _changed(connection, agent_id, revoked_at=revoked_at)


def replace_key(connection: Connection, agent_id: UUID, key: NewKey) -> AgentRecord | None:
    """Replaces the key, also where the old one was revoked. The old key is no longer valid."""
    values = {"key_hash": key.hash, "key_hint": key.hint, "revoked_at": null()}
    return _changed(connection, agent_id, **values, key_created_at=func.clock_timestamp())


def page(connection: Connection, after: str | None, limit: int) -> list[AgentRecord]:
    """In order of name, after the name `after`; one more than `limit` where there are more."""
    name = func.lower(agents.c.username)
    query = select(*_columns).order_by(name).limit(limit + 1)
    if after is not None:
        query = query.where(name > after.lower())
    return agent_rows.all(connection, query)


def _changed(connection: Connection, agent_id: UUID, **values: Any) -> AgentRecord | None:
    changed = update(agents).where(agents.c.id == agent_id).values(values)
    return agent_rows.one_or_none(connection, changed.returning(*_columns))


_OF_KEY = select(agents.c.id, agents.c.username, agents.c.scopes, agents.c.display_name, agents.c.key_hash).where(
    agents.c.key_hash == bindparam("key_hash"), agents.c.revoked_at.is_(None)
)
VALID = select(agents.c.key_hash).where(agents.c.key_hash == AMONG, agents.c.revoked_at.is_(None))
"""The keys that are not revoked, for `app.store.sessions.valid_among`."""
