"""Who makes this request, and whether they may read. What a write needs, its use case asks for."""

from flask import Request, g
from flask.globals import app_ctx

from app.core.access import OPERATOR, Action, Caller, require
from app.core.errors import AuthFailed
from app.keys import same
from app.settings import Settings
from app.usecases.identity import identify, refused
from app.usecases.services import Services
from app.web.blueprint import NAME as DASHBOARD
from app.web.session import may_act, name_of_session, refuse_other_sites

OPEN_PATHS = frozenset({"/health", "/ready", "/openapi.json", "/docs"})
"""What a load balancer or a generator of clients reads without a token."""
WEBSOCKET_PATH = "/ws"
METRICS_PATH = "/metrics"
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


def find_caller(services: Services, asked: Request) -> None:
    """Remembers who asks. A refusal is remembered too, and comes after the limits of rate have counted the request."""
    about, settings = app_ctx.g, services.settings
    about.caller = about.session = None
    if asked.path in OPEN_PATHS or _may_scrape(settings, asked):
        return
    if asked.blueprint == DASHBOARD:
        about.session = name_of_session(asked, settings)
        return
    token = presented_token(asked, settings.auth_token is not None)
    if token is None and may_act(asked, settings):
        about.caller = OPERATOR
        about.session = name_of_session(asked, settings)
        return
    try:
        about.caller = identify(services, token)
    except AuthFailed as refusal:
        about.refusal = refusal


def check_access(settings: Settings, asked: Request) -> None:
    if asked.path in OPEN_PATHS or asked.path == WEBSOCKET_PATH or asked.blueprint == DASHBOARD:
        # A WebSocket asks for its caller itself, to refuse it with a close code. The dashboard's pages have rules of
        # their own: they ask people to sign in.
        return
    if _may_scrape(settings, asked):
        return
    caller = current_caller()
    if asked.path == METRICS_PATH:
        require(caller, Action.OBSERVE)
    if settings.auth_token is None:
        refuse_other_sites(asked)
    if asked.method in _READS:
        require(caller, Action.READ)


def _may_scrape(settings: Settings, asked: Request) -> bool:
    """Whoever shows the token for the metrics, at their address and nowhere else."""
    token = settings.metrics_token
    if asked.path != METRICS_PATH or token is None:
        return False
    return same(presented_token(asked, server_has_token=True) or "", token)


def current_caller() -> Caller:
    caller: Caller | None = g.get("caller")
    if caller is None:
        raise g.get("refusal") or refused()
    return caller
