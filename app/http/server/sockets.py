"""The client's socket behind a request, for streams and WebSockets, which set their own write deadlines."""

from collections.abc import Callable
from typing import Any

from flask import Flask, request
from flask_sock import Sock
from simple_websocket import Server
from wsproto import WSConnection

from app.core.errors import InvalidInput

_HANDSHAKE_HEADERS = ("connection", "upgrade", "host", "sec-websocket-")


def limit_writes(environ: dict[str, Any], seconds: float) -> None:
    """Sets a write deadline for the response to this request. The worker removes it afterwards."""
    environ["gunicorn.socket"].settimeout(seconds)


class _NoThread:
    """Keeps simple-websocket from starting its reader, which also writes, without a lock. `Connection` has its own."""

    name = ""

    def __init__(self, **_: object) -> None:
        pass

    def start(self) -> None:
        pass


def add_websocket(app: Flask, path: str, serve: Callable[[Any, WSConnection], None]) -> None:
    """Calls `serve` after each handshake at this path, with the client's socket and the protocol's state, neither of
    which simple-websocket uses any longer. The connection is over when it returns."""

    def take_over(server: Server) -> None:
        # Otherwise flask-sock sends its own close frame when the view returns.
        server.connected = False
        serve(server.sock, server.ws)

    app.config["SOCK_SERVER_OPTIONS"] = {"thread_class": _NoThread}
    sock = Sock()
    sock.route(path)(take_over)
    sock.bp.before_request(_prepare_handshake)
    sock.init_app(app)


def _prepare_handshake() -> None:
    # No compression: compressing for each of a thousand listeners costs more than the bytes it saves.
    request.environ.pop("HTTP_SEC_WEBSOCKET_EXTENSIONS", None)
    for name, value in request.headers:
        # wsproto decodes these headers as ASCII and raises an unrelated exception when they are not.
        if name.lower().startswith(_HANDSHAKE_HEADERS) and not value.isascii():
            raise InvalidInput(name, "must be ASCII")
