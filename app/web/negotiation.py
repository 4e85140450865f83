"""Experiments have one URL for people and programs: browsers get the page, other clients the JSON of the API."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from app.http.sessions import READ_METHODS

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_SHARED = re.compile(r"/experiments(/[0-9a-fA-F-]{32,36})?/?")
PAGE = "/view"
"""Appended to the shared URL: always the page, whatever the client accepts."""


def wants_page(accept: str) -> bool:
    """A browser names text/html. A client that takes anything, or prefers JSON, is a program."""
    accepted = parse_accept_header(accept, MIMEAccept)
    return "text/html" in accepted.values() and accepted.quality("text/html") > accepted["application/json"]


class PagesForBrowsers:
    """Routes a browser's request for a shared URL to the page. Runs before routing, because access rules depend on
    the view."""

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        is_read = environ.get("REQUEST_METHOD") in READ_METHODS
        if is_read and _SHARED.fullmatch(path) and wants_page(environ.get("HTTP_ACCEPT", "")):
            environ["PATH_INFO"] = path.rstrip("/") + PAGE
        return self._application(environ, start_response)
