"""Receives webhooks on this machine and verifies them with the library of the standard."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue

from standardwebhooks import Webhook, WebhookVerificationError

from app.cli import output
from app.cli.errors import CommandFailed, Exit

MAX_BYTES = 1_000_000
SILENCE_SECONDS = 30.0


class Receiver:
    def __init__(self, host: str, port: int) -> None:
        self.secret: str | None = None
        """Without it, messages are refused."""
        self._verified: SimpleQueue[output.Json] = SimpleQueue()
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        try:
            self._server = ThreadingHTTPServer((host, port), self._handler())
        except (OSError, OverflowError) as problem:
            raise CommandFailed(f"Cannot listen on {host}:{port}: {problem}", Exit.USAGE) from problem
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_port}/"

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            self._server.server_close()

    def next(self) -> output.Json:
        """The next message: its `webhook-id` as `id`, `type`, `timestamp` and `data`. Blocks."""
        return self._verified.get()

    def accept(self, body: bytes, headers: dict[str, str]) -> int:
        """Returns the HTTP status. A repeated message is accepted and not shown again."""
        if self.secret is None:
            return 503
        try:
            message = Webhook(self.secret).verify(body, headers)
            said = {name: message[name] for name in ("type", "timestamp", "data")}
        except (WebhookVerificationError, ValueError, KeyError, TypeError) as problem:
            output.note(f"Refused a message: {problem}")
            return 400
        message_id = {name.lower(): value for name, value in headers.items()}["webhook-id"]
        with self._lock:
            is_new = message_id not in self._seen
            self._seen.add(message_id)
        if is_new:
            self._verified.put({"id": message_id, **said})
        else:
            output.note(f"Delivered again: {message_id}")
        return 204

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        accept = self.accept

        class Handler(BaseHTTPRequestHandler):
            timeout = SILENCE_SECONDS

            def do_POST(self) -> None:
                length = self.headers.get("Content-Length", "")
                if not length.isdecimal() or int(length) > MAX_BYTES:
                    self.send_error(413 if length.isdecimal() else 411)
                    return
                self.send_response(accept(self.rfile.read(int(length)), dict(self.headers)))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Requests are not logged: received messages are printed."""

        return Handler
