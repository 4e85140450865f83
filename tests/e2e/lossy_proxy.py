"""An HTTP proxy before an API that loses what it is told to lose, and remembers every request."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

LOSE_REQUEST = "the connection breaks before the API hears of it"
LOSE_ANSWER = "the API has done it, and the connection breaks before anybody hears of that"
UNAVAILABLE = "503, as when the database is away"
BAD_GATEWAY = "502, as from a proxy whose server is being restarted"
GATEWAY_TIMEOUT = "504, as from a proxy whose server does not answer"
_STATUSES = {UNAVAILABLE: 503, BAD_GATEWAY: 502, GATEWAY_TIMEOUT: 504}


@dataclass
class LossyProxy:
    target: str
    url: str = ""
    retry_after: str = "1"
    is_down: bool = False
    """Every connection breaks."""
    mishaps: list[str] = field(default_factory=list)
    """What happens to the next POSTs, one each; after these, nothing."""
    mishaps_of_gets: list[str] = field(default_factory=list)
    """The same for GETs."""
    before_answer: Callable[[str], None] | None = None
    """Called with the path of each request, between the answer of the API and that of the proxy."""
    gets: int = 0
    """How many were answered."""
    broken: int = 0
    """How many connections broke."""
    posts: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of all POSTs that came."""


@contextmanager
def lossy_proxy(target: str) -> Iterator[LossyProxy]:
    proxy = LossyProxy(target)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    proxy: LossyProxy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.proxy.is_down:
            self._break()
        elif self.proxy.mishaps_of_gets:
            self._be_away(self.proxy.mishaps_of_gets.pop(0))
        else:
            self._forward(None)
            self.proxy.gets += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.proxy.posts.append(json.loads(body))
        mishap = self.proxy.mishaps.pop(0) if self.proxy.mishaps else None
        if mishap in _STATUSES:
            self._be_away(mishap)
        elif mishap == LOSE_REQUEST:
            self._break()
        else:
            self._forward(body, lose_answer=mishap == LOSE_ANSWER)

    def _forward(self, body: bytes | None, lose_answer: bool = False) -> None:
        headers = {"Content-Type": "application/json"}
        answer = httpx.request(
            self.command, self.proxy.target + self.path, content=body, headers=headers, trust_env=False
        )
        if self.proxy.before_answer:
            self.proxy.before_answer(self.path)
        if lose_answer:
            self._break()
        else:
            self._answer(answer.status_code, answer.content, {"Content-Type": answer.headers["Content-Type"]})

    def _be_away(self, mishap: str) -> None:
        # A proxy knows nothing of Retry-After, and answers with a page.
        headers = {"Retry-After": self.proxy.retry_after} if mishap == UNAVAILABLE else {"Content-Type": "text/html"}
        self._answer(_STATUSES[mishap], b"<html>away</html>", headers)

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _break(self) -> None:
        self.close_connection = True
        self.proxy.broken += 1

    def log_message(self, *_: Any) -> None:
        """Quiet."""
