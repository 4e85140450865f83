"""The session cookie, and same-origin checks. Sessions are stored in the database, so that signing out ends one in
every API process."""

import re
from collections.abc import Callable
from uuid import UUID

from flask import Request
from werkzeug.wrappers import Response

from app.core.errors import Forbidden
from app.settings import Settings
from app.store.agents import same
from app.usecases.identity import SESSION_LIFETIME
from app.usecases.invitations import GUEST_LIFETIME

COOKIE = "debate_session"
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
DASHBOARD = "web"
"""The blueprint of the pages: session cookie, no CORS, no JSON bodies."""
DASHBOARD_FILES = f"{DASHBOARD}.static"
READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_operators_token(given: str, settings: Settings) -> bool:
    return bool(settings.auth_token) and same(given.strip(), settings.auth_token or "")


def set_cookie(response: Response, request: Request, secret: str) -> None:
    response.set_cookie(
        COOKIE,
        secret,
        max_age=SESSION_LIFETIME,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure,
    )


def guest_cookie(debate_id: UUID) -> str:
    """One cookie for each debate, so that a browser may be a guest of several."""
    return f"debate_guest_{debate_id.hex}"


def judge_cookie(experiment_id: UUID) -> str:
    return f"debate_judge_{experiment_id.hex}"


def set_guest_cookie(response: Response, request: Request, name: str, secret: str, *paths: str) -> None:
    """Sent to these addresses only. Lax: people come from a link in a message."""
    for path in paths:
        response.set_cookie(
            name,
            secret,
            max_age=GUEST_LIFETIME,
            httponly=True,
            samesite="Lax",
            secure=request.is_secure,
            path=path,
        )


def guest_secret(request: Request) -> tuple[UUID, str] | None:
    """With the debate that the request names, in its path or (for a WebSocket) its query."""
    return _secret_of(
        (request.view_args or {}).get("debate_id") or request.args.get("debate_id"), request, guest_cookie
    )


def judge_secret(request: Request) -> tuple[UUID, str] | None:
    """With the experiment that the request names in its path."""
    return _secret_of((request.view_args or {}).get("experiment_id"), request, judge_cookie)


def _secret_of(named: str | None, request: Request, cookie: Callable[[UUID], str]) -> tuple[UUID, str] | None:
    try:
        guests_own = UUID(str(named))
    except ValueError:
        return None
    secret = secret_in_cookie(request, cookie(guests_own))
    return (guests_own, secret) if secret else None


def clear_cookie(response: Response) -> None:
    response.delete_cookie(COOKIE, httponly=True, samesite="Strict")


def has_cookies(request: Request) -> bool:
    """Programs send none, and finding each of ours takes longer than this."""
    return "HTTP_COOKIE" in request.environ


def secret_in_cookie(request: Request, cookie: str = COOKIE) -> str | None:
    """None when the cookie is absent or not in the format of our secrets."""
    given = request.cookies.get(cookie, "")
    return given if _SECRET.fullmatch(given) else None


def may_act(request: Request) -> bool:
    """Whether the cookie may be used: for writes only from our own pages, because another site's form would send it."""
    return request.method in READ_METHODS or is_same_origin(request)


def refuse_other_sites(request: Request) -> None:
    """CSRF protection for a server without a token: a page of another site in a local browser may not write."""
    if request.method in READ_METHODS:
        return
    is_browser = "Sec-Fetch-Site" in request.headers or "Origin" in request.headers
    if is_browser and not is_same_origin(request):
        raise Forbidden(
            "The request comes from a page of another site",
            suggestion="Use this server's own pages, or set DEBATE_AUTH_TOKEN and send it",
        )


def is_same_origin(request: Request) -> bool:
    """By Sec-Fetch-Site, which a page cannot set; by Origin where that is missing (older browsers, plain HTTP)."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    return is_own_origin(request.headers.get("Origin", ""), request)


def is_own_origin(origin: str, request: Request) -> bool:
    """`origin` is the header's value: scheme://host[:port]. The scheme is ignored, because a proxy may use TLS with the
    browser and plain HTTP with us. Compared as text: a valid origin needs no parsing."""
    host = origin.partition("://")[2]
    return bool(host) and host == request.host
