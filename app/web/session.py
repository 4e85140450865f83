"""Signing in: the operator's token is shown once and answered with a cookie that says so for a while.

The cookie is signed with a key made from the token, and nothing is kept on the server: any API process accepts it, and
a new token ends every session.
"""

import hashlib
import hmac
from urllib.parse import urlsplit

from flask import Request, Response
from itsdangerous import BadSignature, TimestampSigner

from app.clock import seconds_since_1970
from app.core.errors import Forbidden
from app.settings import Settings

COOKIE = "debate_session"
LASTS_SECONDS = 7 * 24 * 3600
_OPERATOR = "operator"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_operators_token(given: str, settings: Settings) -> bool:
    expected = settings.auth_token or ""
    return bool(expected) and hmac.compare_digest(given.strip().encode(), expected.encode())


def sign_in(response: Response, request: Request, settings: Settings) -> None:
    response.set_cookie(
        COOKIE,
        _signer(settings).sign(_OPERATOR).decode(),
        max_age=LASTS_SECONDS,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure,
    )


def sign_out(response: Response) -> None:
    response.delete_cookie(COOKIE, httponly=True, samesite="Strict")


def is_signed_in(request: Request, settings: Settings) -> bool:
    """Whether the request carries the cookie of the operator's session. Says nothing about where it comes from."""
    if settings.auth_token is None:
        return False
    try:
        signed = _signer(settings).unsign(request.cookies.get(COOKIE, ""), max_age=LASTS_SECONDS)
    except BadSignature:
        return False
    return bool(signed == _OPERATOR.encode())


def name_of_session(request: Request, settings: Settings) -> str | None:
    """Tells sessions apart and gives none away; None for whoever has not signed in."""
    if not is_signed_in(request, settings):
        return None
    return hashlib.sha256(request.cookies[COOKIE].encode()).hexdigest()[:16]


def may_act(request: Request, settings: Settings) -> bool:
    """Signed in, and, where something could change, on a page of ours: another site's form would bring the cookie."""
    if not is_signed_in(request, settings):
        return False
    return request.method in _SAFE_METHODS or is_same_origin(request)


def refuse_other_sites(request: Request) -> None:
    """Where no token is set, whatever reaches the port may act. A page of another site in a local browser may not."""
    if request.method in _SAFE_METHODS:
        return
    is_browser = "Sec-Fetch-Site" in request.headers or "Origin" in request.headers
    if is_browser and not is_same_origin(request):
        raise Forbidden(
            "The request comes from a page of another site",
            suggestion="Use this server's own pages, or set DEBATE_AUTH_TOKEN and send it",
        )


def is_same_origin(request: Request) -> bool:
    """As the browser says it. The first header cannot be set by a page; older ways of serving have only the second."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    return urlsplit(request.headers.get("Origin", "")).netloc == request.host


class _DatabaseTimeSigner(TimestampSigner):
    """The library takes a cookie from a machine whose clock is ahead for a forged one."""

    def get_timestamp(self) -> int:
        return int(seconds_since_1970())


def _signer(settings: Settings) -> TimestampSigner:
    return _DatabaseTimeSigner(
        settings.auth_token or "", salt="dashboard session", key_derivation="hmac", digest_method=hashlib.sha256
    )
