"""An endpoint of the tests: verifies with the reference library, keeps what it got, answers as told."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook


@dataclass(frozen=True)
class Got:
    id: str
    type: str
    data: dict[str, Any]
    status: int
    """It was answered with."""
    path: str


class Receiver:
    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.status = 200
        self.secret = ""
        self.delay_seconds = 0.0
        self.got: list[Got] = []
        self.unverified: list[str] = []
        self._server = ThreadingHTTPServer((host, port), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://{host}:{self.port}"

    def accepted(self) -> list[Got]:
        """What it answered 200 to, each message once."""
        return list({got.id: got for got in self.got if got.status == 200}.values())

    def receive(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        status = self.status
        try:
            message = Webhook(self.secret).verify(body, headers)
        except Exception as problem:
            self.unverified.append(repr(problem))
            return 400
        time.sleep(self.delay_seconds)
        message_id = {name.lower(): value for name, value in headers.items()}["webhook-id"]
        self.got.append(Got(message_id, message["type"], message["data"], status, path))
        return status

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    # Its sender was killed in the middle of it: no message arrived.
                    return
                status = outer.receive(self.path, body, dict(self.headers))
                self.send_response(status)
                if status // 100 == 3:
                    self.send_header("Location", f"{outer.url}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """From now on connections are refused."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiving(**options: Any) -> Iterator[Receiver]:
    receiver = Receiver(**options)
    receiver.start()
    try:
        yield receiver
        assert receiver.unverified == []
    finally:
        receiver.stop()
