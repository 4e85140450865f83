"""Who makes this request, and whether they may read. What a write needs, its use case asks for."""

from flask import Request, g, request

from app.core.access import Action, Caller, require
from app.core.errors import AuthFailed
from app.usecases.identity import identify, refused
from app.usecases.services import Services

OPEN_PATHS = frozenset({"/health", "/ready", "/openapi.json", "/docs"})
"""What a load balancer or a generator of clients reads without a token."""
WEBSOCKET_PATH = "/ws"
_READS = ("GET", "HEAD", "OPTIONS")


def presented_token(asked: Request, server_has_token: bool) -> str | None:
    """The bearer token as it was sent. Where there is no token to have, other schemes are a proxy's business."""
    if asked.path == WEBSOCKET_PATH and asked.args.get("token"):
        # A browser cannot set a header for a WebSocket.
        return asked.args["token"]
    given = asked.headers.get("Authorization", "").strip()
    if not given:
        return None
    scheme, _, token = given.partition(" ")
    if scheme.lower() != "bearer":
        return "" if server_has_token else None
    return token.strip()


def find_caller(services: Services) -> None:
    """Remembers who asks. A refusal is remembered too, and comes after the limits of rate have counted the request."""
    g.caller = None
    if request.path in OPEN_PATHS:
        return
    try:
        g.caller = identify(services, presented_token(request, services.settings.auth_token is not None))
    except AuthFailed as refusal:
        g.refusal = refusal


def check_access() -> None:
    if request.path in OPEN_PATHS or request.path == WEBSOCKET_PATH:
        # A WebSocket asks for its caller itself, to refuse it with a close code.
        return
    caller = current_caller()
    if request.method in _READS:
        require(caller, Action.READ)


def current_caller() -> Caller:
    caller: Caller | None = g.get("caller")
    if caller is None:
        raise g.get("refusal") or refused()
    return caller
