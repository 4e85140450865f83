"""Refuses what is beyond the quota of an agent's key. The operator has none."""

import math

from app.core.access import Agent, Caller
from app.core.errors import RateLimitExceeded
from app.store import quotas as store
from app.store.engine import Connection
from app.usecases.services import Services


def take_bytes(services: Services, connection: Connection, caller: Caller, count: int) -> None:
    quota = services.settings.agent_quotas
    if quota is None or not isinstance(caller, Agent) or not count:
        return
    if not store.take_bytes(connection, caller.id, count, quota.bytes):
        words = f"This key has a quota of {quota.bytes:,} bytes a day (UTC), and this would exceed it"
        raise RateLimitExceeded(math.ceil(store.seconds_left(connection)), words)


def count_bytes(services: Services, caller: Caller, count: int) -> bool:
    """Counts what a request may store, in its own transaction. Returns whether it was counted."""
    if services.settings.agent_quotas is None or not isinstance(caller, Agent) or not count:
        return False
    with services.engine.begin() as connection:
        take_bytes(services, connection, caller, count)
    return True


def give_back_bytes(services: Services, caller: Caller, count: int) -> None:
    if isinstance(caller, Agent):
        with services.engine.begin() as connection:
            store.give_back_bytes(connection, caller.id, count)


def refuse_if_spent(services: Services, caller: Caller) -> None:
    """For what makes models speak."""
    quota = services.settings.agent_quotas
    if quota is None or not isinstance(caller, Agent):
        return
    with services.engine.statements() as connection:
        if store.spent_usd(connection, caller.id) < quota.usd:
            return
        words = f"This key has spent its quota of ${quota.usd:g} a day (UTC) for models"
        raise RateLimitExceeded(math.ceil(store.seconds_left(connection)), words)
