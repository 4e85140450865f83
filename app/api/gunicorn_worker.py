"""gunicorn's gevent worker, with patience that ends.

A shutdown does not wait for connections on which nothing is happening. Whoever is slow to send a request is cut off,
and when connections run out the one that has kept us waiting longest makes room. A client that sends without end never
keeps the others from being served.
"""

import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import gevent
from gunicorn.workers.ggevent import GeventWorker

from app.api.patient_body import PatientBody

REQUEST_SECONDS = 20
"""For the first request of a connection to be there, and for the body of any: a slower client is cut off."""
ANSWER_SECONDS = 60
"""For the client to take its answer. Streams and WebSockets have their own, shorter ones."""
GOODBYE_SECONDS = 2
"""For a client that is still sending what we refused to see the answer, before the connection is closed over it."""
GOODBYE_BYTES = 8 * 1024 * 1024
SPARE_CONNECTIONS = 500
"""Of what this process may open: files and connections of its own, and room for one that comes while all are in use."""


class PromptWorker(GeventWorker):  # type: ignore[misc]
    at_exit: ClassVar[list[Callable[[], None]]] = []
    """Called when this process is told to end, so that requests held open (streams, long polls) end too."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._waiting: dict[gevent.Greenlet, gevent.Timeout] = {}
        """Those that wait for a client to send something, the longest first."""
        self._heard: set[gevent.Greenlet] = set()
        """Those whose client has sent a request already."""
        self._answering: set[gevent.Greenlet] = set()
        """Those that have a request in hand, perhaps with more of its body to come."""
        self._open = 0
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        room = self.worker_connections if files < 0 else min(self.worker_connections, files)
        self._most_open = max(room - SPARE_CONNECTIONS, 1)

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        self._open += 1
        if self._open > self._most_open:
            self._end_longest_waiting()
        try:
            super().handle(listener, client, addr)
        finally:
            self._open -= 1
            self._heard.discard(gevent.getcurrent())

    def timeout_ctx(self) -> Any:
        """gunicorn waits in here for the next request of a connection."""
        # A client that sends requests without waiting for answers would otherwise be served alone.
        gevent.sleep(0)
        seconds = self.cfg.keepalive if gevent.getcurrent() in self._heard else self._request_seconds
        return self._waiting_for_client(seconds if self.alive else 0.001, False)

    @property
    def _request_seconds(self) -> float:
        return min(REQUEST_SECONDS, float(self.cfg.keepalive))

    @contextmanager
    def _waiting_for_client(self, seconds: float, at_end: Any) -> Iterator[None]:
        this = gevent.getcurrent()
        # While it waits for the next request, gunicorn may first wait for the rest of the last one's body.
        outer = self._waiting.get(this)
        with gevent.Timeout(seconds, at_end) as patience:
            self._waiting[this] = patience
            try:
                yield
            finally:
                self._waiting.pop(this, None)
                if outer is not None:
                    self._waiting[this] = outer

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> Any:
        this = gevent.getcurrent()
        self._heard.add(this)
        self._answering.add(this)
        sock.settimeout(ANSWER_SECONDS)
        if getattr(req.body.reader, "length", None) != 0:
            self._be_patient(req)
        try:
            goes_on = super().handle_request(listener_name, req, sock, addr)
        except TimeoutError:
            self.log.warning("A client did not take its answer within %s seconds", ANSWER_SECONDS)
            raise StopIteration from None
        finally:
            self._answering.discard(this)
            if isinstance(req.body, PatientBody) and req.body.is_left_over():
                _say_goodbye(sock)
        sock.settimeout(None)
        return goes_on

    def _be_patient(self, req: Any) -> None:
        body = PatientBody(req.body, self._waiting_for_client, self._request_seconds)
        closes_anyway = req.should_close
        req.body = body
        # gunicorn asks when it writes the answer's head, which tells the client not to use the connection again.
        req.should_close = lambda: closes_anyway() or body.is_left_over()

    def handle_exit(self, sig: int, frame: Any) -> None:
        super().handle_exit(sig, frame)
        gevent.spawn(self._end_waiting)

    def _end_waiting(self) -> None:
        """As if their patience had run out: the connection is closed in the ordinary way.

        Requests in hand are finished.
        """
        for end in self.at_exit:
            end()
        for greenlet in [one for one in self._waiting if one not in self._answering]:
            self._end(greenlet)

    def _end_longest_waiting(self) -> None:
        greenlet = next(iter(self._waiting), None)
        if greenlet is not None:
            self._end(greenlet)

    def _end(self, greenlet: gevent.Greenlet) -> None:
        gevent.get_hub().loop.run_callback(_let_go, greenlet, self._waiting.pop(greenlet))


def _let_go(greenlet: gevent.Greenlet, patience: gevent.Timeout) -> None:
    """Unless its request has come meanwhile: that is in hand then, and is answered."""
    if patience.pending:
        greenlet.throw(patience)


def _say_goodbye(sock: Any) -> None:
    """The rest of a refused body is thrown away for a moment: closing over it would take the answer from the client."""
    with gevent.Timeout(GOODBYE_SECONDS, False):
        try:
            sock.shutdown(socket.SHUT_WR)
            left = GOODBYE_BYTES
            while left > 0 and (thrown_away := sock.recv(1 << 16)):
                left -= len(thrown_away)
                gevent.sleep(0)
        except OSError:
            return
