"""Authenticates each request and checks that the caller may read. Use cases check the permissions of writes."""

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit
from uuid import UUID

from flask import Request, g
from flask.globals import app_ctx

from app.core.access import Action, Caller, Guest, GuestJudge, Operator, require, require_any, require_debate
from app.core.errors import AuthFailed, Forbidden
from app.http import sessions
from app.http.cors import is_of_allowed_origin
from app.http.rules import rules_of
from app.settings import Settings
from app.store.agents import same
from app.usecases.experiments.judging import judge_of_session
from app.usecases.identity import identify, operator_of_session
from app.usecases.invitations import guest_of_session
from app.usecases.services import Services
from app.usecases.solutions.solutions import require_author
from app.usecases.transactions import refused

OPEN_PATHS = frozenset({"/health", "/ready", "/openapi.json", "/docs"})
"""Paths that need no token: load balancers and client generators read them."""
WEBSOCKET_PATH = "/ws"
METRICS_PATH = "/metrics"


def presented_token(asked: Request, server_has_token: bool) -> str | None:
    """The bearer token as sent. On a server without a token, other schemes are ignored: they belong to a proxy."""
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


def own_hosts(settings: Settings) -> frozenset[str]:
    """Host names, besides loopback names, that a server without a token accepts. It always binds loopback."""
    host = urlsplit(settings.server_url).hostname if settings.server_url else None
    return frozenset({host.rstrip(".")} if host else ())


def refuse_foreign_host(asked: Request, own: frozenset[str]) -> None:
    """For a server without a token. Protects against DNS rebinding: a name that resolves to 127.0.0.1 makes a foreign
    page same-origin with this server for the browser, and only the `Host` header shows it."""
    sent = asked.environ.get("werkzeug.proxy_fix.orig", {}).get("HTTP_HOST")
    # Both the client's Host and the one that a proxy forwarded: a page can set X-Forwarded-Host, but never Host.
    for host in (sent, asked.environ.get("HTTP_HOST")):
        if host is not None and not _is_local(host, own):
            raise Forbidden(
                "This server has no token, so it answers only to its own host name, and the Host header names another",
                suggestion="Use http://localhost with its port; or set DEBATE_AUTH_TOKEN, or set DEBATE_SERVER_URL to"
                " this name, and restart the server",
            )


@lru_cache(maxsize=100)
def _is_local(host: str, own: frozenset[str]) -> bool:
    """`host` is the header's value: a name or an address, with or without a port; IPv6 in brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        name = host
    name = name.lower().rstrip(".")
    if name in own or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name).is_loopback
    except ValueError:
        return False


def find_caller(services: Services, asked: Request) -> None:
    """Stores the caller in Flask's `g`. A failed login is stored too and raised later, after rate limiting."""
    about, settings = app_ctx.g, services.settings
    about.caller = about.session = about.guest = about.judge = about.refusal = None
    if asked.path in OPEN_PATHS or _may_scrape(settings, asked):
        return
    if asked.blueprint == sessions.DASHBOARD:
        if asked.endpoint != sessions.DASHBOARD_FILES:
            about.session = _session_of(services, asked)
            about.guest = _guest_of(services, asked)
            about.judge = _judge_of(services, asked)
        return
    token = presented_token(asked, settings.auth_token is not None)
    if token is None and sessions.has_cookies(asked) and _may_use_cookies(settings, asked):
        about.session = _session_of(services, asked)
        if about.session is not None:
            about.caller = about.session
            return
        about.caller = about.guest = _guest_of(services, asked)
        if about.caller is not None:
            return
    try:
        about.caller = identify(services, token)
    except AuthFailed as refusal:
        if token is not None or not rules_of(asked.endpoint).public:
            about.refusal = refusal


def _may_use_cookies(settings: Settings, asked: Request) -> bool:
    return not is_of_allowed_origin(asked, settings.allowed_origins) and sessions.may_act(asked)


def _session_of(services: Services, asked: Request) -> Operator | None:
    secret = sessions.secret_in_cookie(asked)
    return operator_of_session(services, secret) if secret else None


def _guest_of(services: Services, asked: Request) -> Guest | None:
    found = sessions.guest_secret(asked)
    guest = guest_of_session(services, found[1]) if found else None
    # The holder of the cookie could rename it to another debate's.
    return guest if guest and found and guest.debate_id == found[0] else None


def _judge_of(services: Services, asked: Request) -> GuestJudge | None:
    found = sessions.judge_secret(asked)
    judge = judge_of_session(services, found[1]) if found else None
    # The holder of the cookie could rename it to another experiment's.
    return judge if judge and found and judge.experiment_id == found[0] else None


def _check_guest(asked: Request, guest: Guest) -> None:
    if not rules_of(asked.endpoint).guests:
        raise Forbidden("This invitation gives access to one seat of one debate only")
    # An MCP message names its debate in its body, and the view checks it.
    if "debate_id" in (asked.view_args or {}):
        require_debate(guest, UUID(str((asked.view_args or {})["debate_id"])))


def check_access(settings: Settings, asked: Request) -> None:
    if asked.path in OPEN_PATHS or asked.path == WEBSOCKET_PATH or asked.blueprint == sessions.DASHBOARD:
        # The WebSocket view checks its caller itself, to refuse with a close code. Pages redirect to the sign-in form.
        return
    if _may_scrape(settings, asked):
        return
    rules = rules_of(asked.endpoint)
    if rules.public and current_reader() is None:
        return
    caller = current_caller()
    if isinstance(caller, Guest):
        _check_guest(asked, caller)
    if asked.path == METRICS_PATH:
        require(caller, Action.OBSERVE)
    if settings.auth_token is None and not is_of_allowed_origin(asked, settings.allowed_origins):
        sessions.refuse_other_sites(asked)
    if rules.agents:
        require_author(caller)
    require_any(caller, *((rules.takes,) if isinstance(rules.takes, Action) else rules.takes))
    if asked.method in sessions.READ_METHODS:
        require(caller, Action.READ)


def _may_scrape(settings: Settings, asked: Request) -> bool:
    """Whether this is a request for /metrics with the metrics token."""
    token = settings.metrics_token
    if asked.path != METRICS_PATH or token is None:
        return False
    return same(presented_token(asked, server_has_token=True) or "", token)


def current_caller() -> Caller:
    caller = current_reader()
    if caller is None:
        raise refused()
    return caller


def current_reader() -> Caller | None:
    """None for a request without a key to a public view."""
    caller: Caller | None = g.get("caller")
    refusal: AuthFailed | None = g.get("refusal")
    if caller is None and refusal is not None:
        raise refusal
    return caller
