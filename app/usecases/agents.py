"""Agents and their keys: create, list, revoke, rotate. Only for the operator."""

from collections.abc import Collection
from uuid import UUID

import structlog

from app.core.access import Action, Caller, Scope, is_reserved, require
from app.core.errors import Conflict, InvalidInput, NotFound, or_raise
from app.core.texts import checked_text
from app.store import agents
from app.store.agents import AgentRecord, NewKey, UsernameTaken, new_key
from app.store.ids import new_id
from app.store.page_cursors import Page, pack, page_of, unpack
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)

MAX_NAME_BYTES = 400
"""100 characters of at most four bytes."""


@repeated_on_conflict
def create_agent(
    services: Services, caller: Caller, username: str, display_name: str | None, scopes: Collection[Scope]
) -> tuple[AgentRecord, NewKey]:
    require(caller, Action.MANAGE)
    if is_reserved(username):
        raise InvalidInput("username", f"{username} is reserved: choose a name that is not the server's own")
    if display_name is not None:
        checked_text("displayName", display_name, MAX_NAME_BYTES)
    key = new_key()
    try:
        with services.engine.begin() as connection:
            record = agents.insert_agent(connection, new_id(), username, display_name, scopes, key)
    except UsernameTaken:
        raise Conflict(f"There is an agent named {username} already") from None
    log.info("agent.created", agent_id=str(record.id), username=username, scopes=sorted(scopes))
    return record, key


def list_agents(services: Services, caller: Caller, limit: int, cursor: str | None) -> Page[AgentRecord]:
    require(caller, Action.MANAGE)
    after = str(unpack(cursor, str)[0]) if cursor else None
    with services.engine.connect() as connection:
        found = agents.page(connection, after, limit)
    return page_of(found, limit, lambda agent: pack(agent.username))


@repeated_on_conflict
def revoke_key(services: Services, caller: Caller, agent_id: UUID) -> AgentRecord:
    require(caller, Action.MANAGE)
    with services.engine.begin() as connection:
        record = or_raise(agents.revoke(connection, agent_id), _unknown(agent_id))
    log.info("agent.revoked", agent_id=str(agent_id), username=record.username)
    return record


@repeated_on_conflict
def rotate_key(services: Services, caller: Caller, agent_id: UUID) -> tuple[AgentRecord, NewKey]:
    require(caller, Action.MANAGE)
    key = new_key()
    with services.engine.begin() as connection:
        record = or_raise(agents.replace_key(connection, agent_id, key), _unknown(agent_id))
    log.info("agent.rotated", agent_id=str(agent_id), username=record.username)
    return record, key


def _unknown(agent_id: UUID) -> NotFound:
    return NotFound(f"There is no agent {agent_id}")
