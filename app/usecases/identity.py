"""Identifies the caller by its token, key or session, for HTTP, SSE, long poll and WebSocket alike."""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from datetime import timedelta

from app.core.access import OPERATOR, Agent, Caller, Operator
from app.core.debate import Speaker
from app.core.errors import AuthFailed
from app.store import agents, invitations, sessions
from app.store.agents import KEY_PREFIX, same
from app.store.invitations import SEAT_KEY_PREFIX
from app.usecases.services import Services
from app.usecases.transactions import refused, repeated_on_conflict

OPEN = Operator(has_token=False)
"""A caller without a key, on a server without a token, which listens on loopback only."""


def identify(services: Services, presented: str | None) -> Caller:
    """`presented` is the token or key as it was sent; None if nothing was. Raises AuthFailed."""
    token = services.settings.auth_token
    if presented is not None and presented.startswith((KEY_PREFIX, SEAT_KEY_PREFIX)):
        store = agents if presented.startswith(KEY_PREFIX) else invitations
        with services.engine.statements() as connection:
            found: Caller | None = store.of_key(connection, presented)
        if found is not None:
            return found
        if token is None:
            raise AuthFailed(
                "This key is unknown, or was revoked, or has expired",
                suggestion="Send a valid agent's key, or no key at all: this server has no token",
            )
    if token is None:
        # Anything else that was sent is ignored: there is no token to compare it with.
        return OPEN
    if presented is not None and same(presented, token):
        return OPERATOR
    raise refused()


def speaker(caller: Caller) -> Speaker | None:
    return Speaker(caller.id, caller.username) if isinstance(caller, Agent) else None


def valid_credentials(services: Services, hashes: Collection[bytes]) -> set[bytes]:
    with services.engine.statements() as connection:
        stores = (agents.VALID, sessions.VALID, invitations.VALID)
        return set().union(*(sessions.valid_among(connection, valid, hashes) for valid in stores))


# Sessions of the dashboard: after sign-in a random secret replaces the operator's token until sign-out, expiry or a
# change of the token. The stored hash is keyed with the token, so sessions of an earlier token are invalid.
SESSION_LIFETIME = timedelta(days=7)


@repeated_on_conflict
def begin_session(services: Services) -> str:
    secret = secrets.token_urlsafe(32)
    with services.engine.begin() as connection:
        sessions.begin(connection, _hash_of(services, secret), SESSION_LIFETIME)
    return secret


@repeated_on_conflict
def end_session(services: Services, secret: str) -> None:
    """Takes effect immediately in all API processes; open streams of the session end within seconds."""
    with services.engine.begin() as connection:
        sessions.end(connection, _hash_of(services, secret))


def operator_of_session(services: Services, secret: str) -> Operator | None:
    if services.settings.auth_token is None:
        return None
    session_hash = _hash_of(services, secret)
    with services.engine.statements() as connection:
        is_valid = session_hash in sessions.valid_among(connection, sessions.VALID, [session_hash])
    return Operator(credential=session_hash) if is_valid else None


def _hash_of(services: Services, secret: str) -> bytes:
    return hmac.digest((services.settings.auth_token or "").encode(), secret.encode(), hashlib.sha256)
