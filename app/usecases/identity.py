"""From a presented token to a caller. Every way in (HTTP, server-sent events, long poll, WebSocket) asks here."""

from collections.abc import Collection

from app.core.access import OPERATOR, Agent, Caller, Operator
from app.core.debate import Speaker
from app.core.errors import AuthFailed
from app.keys import PREFIX, same
from app.store import agents
from app.store.engine import Connection, statements
from app.usecases.services import Services

OPEN = Operator(has_token=False)
"""Whoever sends nothing to a server that has no token. Only this machine can."""


def identify(services: Services, presented: str | None) -> Caller:
    """`presented` is the token or key as it was sent; None if nothing was. Raises AuthFailed."""
    token = services.settings.auth_token
    if presented is None:
        if token is None:
            return OPEN
        raise refused()
    if token is not None and same(presented, token):
        return OPERATOR
    if presented.startswith(PREFIX):
        with statements(services.engine) as connection:
            agent = agents.of_key(connection, presented)
        if agent is not None:
            return agent
    raise refused()


def refused() -> AuthFailed:
    """The same words whatever was wrong: absent, unknown, revoked."""
    return AuthFailed(
        "This server wants a token, and none or a wrong one was sent",
        suggestion="Send the header Authorization: Bearer <token>",
    )


def check_still_valid(connection: Connection, caller: Caller) -> None:
    """Inside the transaction of a write: a key that was revoked since the request began, or since its connection was
    opened, writes nothing."""
    if isinstance(caller, Agent) and caller.key_hash not in agents.valid_among(connection, [caller.key_hash]):
        raise refused()


def speaker(caller: Caller) -> Speaker | None:
    """Who is recorded with a turn."""
    return Speaker(caller.id, caller.username) if isinstance(caller, Agent) else None


def valid_keys(services: Services, key_hashes: Collection[bytes]) -> set[bytes]:
    """Those of these keys that still hold."""
    with statements(services.engine) as connection:
        return agents.valid_among(connection, key_hashes)
