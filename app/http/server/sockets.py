"""The client's socket behind a request, for streams and WebSockets, which set their own write deadlines."""

from typing import Any, TypeAlias

from flask import Flask
from flask_sock import Sock
from simple_websocket import Server
from wsproto import WSConnection

WebSocket: TypeAlias = Server
EXTENSIONS_HEADER = "HTTP_SEC_WEBSOCKET_EXTENSIONS"


def limit_writes(environ: dict[str, Any], seconds: float) -> None:
    """Sets a write deadline for the answer to this request. The worker removes it afterwards."""
    environ["gunicorn.socket"].settimeout(seconds)


class _NoThread:
    """Keeps simple-websocket from starting its reader, which also writes, without a lock. `Connection` has its own."""

    name = ""

    def __init__(self, **_: object) -> None:
        pass

    def start(self) -> None:
        pass


def make_sock(app: Flask) -> Sock:
    app.config["SOCK_SERVER_OPTIONS"] = {"thread_class": _NoThread}
    return Sock()


def take_over(server: WebSocket) -> tuple[Any, WSConnection]:
    """The socket and the protocol state after the handshake. simple-websocket no longer uses either."""
    # Otherwise flask-sock sends its own close frame when the view returns.
    server.connected = False
    return server.sock, server.ws
