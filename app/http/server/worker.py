"""Our gevent worker and logger for gunicorn. README.md in this folder gives the reason for each override."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, ClassVar

import gevent
from gevent.threadpool import ThreadPool
from gunicorn.glogging import Logger
from gunicorn.http.errors import ParseException
from gunicorn.workers.ggevent import GeventWorker

from app.observe.logs import configure_logs, log_crashes
from app.settings import settings_or_exit

LINGER_SECONDS = 2
"""How long a client that is still sending a refused body has to read the response."""
LINGER_BYTES = 8 * 1024 * 1024
UNREAD_BYTES = 64 * 1024
"""An unread body of at most this length is read and discarded, so that the connection can be kept."""


class ApiWorker(GeventWorker):  # type: ignore[misc]
    at_exit: ClassVar[list[Callable[[], None]]] = []
    """Called when the process receives SIGTERM: ends open requests (streams, long polls, WebSockets)."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._idle: dict[gevent.Greenlet, gevent.Timeout] = {}
        """Connections that wait for a request, with the timeout that ends the wait."""

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """gunicorn waits in this context for the next request of a connection."""
        # Without this yield, a client that pipelines requests is served alone: its data is always there, so no read
        # ever yields to the other greenlets.
        gevent.sleep(0)
        this = gevent.getcurrent()
        # When the process is ending, a request that has arrived is still read and served.
        with gevent.Timeout(self.cfg.keepalive if self.alive else 0.001, False) as timeout:
            self._idle[this] = timeout
            try:
                yield
            finally:
                self._idle.pop(this, None)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> None:
        # Applies to each read of the body and each write of the response. Without it, a client that has vanished would
        # keep its greenlet and its file for ever.
        sock.settimeout(self.cfg.keepalive)
        if _announced_length(req) > UNREAD_BYTES:
            # If the body is refused, the connection is closed; the response has to say so, or the client sends its next
            # request into the closing connection.
            req.force_close()
        try:
            super().handle_request(listener_name, req, sock, addr)
        except TimeoutError:
            self.log.warning("A client did not read its answer within %s seconds", self.cfg.keepalive)
            raise StopIteration from None
        finally:
            _discard_body(req, sock)
            sock.settimeout(None)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:  # noqa: ARG002 (gunicorn's)
        """Replaces gunicorn's response, which is HTML, and its log line, which quotes what it could not parse."""
        if isinstance(exc, gevent.GreenletExit):
            # The process ends and has waited long enough for this connection.
            return
        # Not at the top: gunicorn's master imports this module, and prometheus-client, which `refusals` needs, must be
        # imported after the master has made the directory for its figures.
        from app.http.server.refusals import refusal_bytes

        with suppress(OSError):
            client.settimeout(LINGER_SECONDS)
            client.sendall(refusal_bytes(exc, addr))
            _linger(client)

    def handle_exit(self, sig: int, frame: Any) -> None:
        super().handle_exit(sig, frame)
        # Not here: a signal handler may not switch greenlets.
        gevent.spawn(self._end_idle)

    def _end_idle(self) -> None:
        """Idle connections are closed as if their timeout had passed; requests in progress are finished."""
        for end in self.at_exit:
            end()
        for greenlet, timeout in list(self._idle.items()):
            gevent.get_hub().loop.run_callback(_expire, greenlet, timeout)


def _expire(greenlet: gevent.Greenlet, timeout: gevent.Timeout) -> None:
    # A timeout that is no longer pending was cancelled: the request came meanwhile, and is served.
    if timeout.pending:
        greenlet.throw(timeout)


def _announced_length(req: Any) -> int:
    return next((int(value) for name, value in req.headers if name == "CONTENT-LENGTH" and value.isdecimal()), 0)


def _discard_body(req: Any, sock: Any) -> None:
    """gunicorn would read the rest of a refused body without a limit and without yielding."""
    is_read = False
    with gevent.Timeout(LINGER_SECONDS, False), suppress(OSError, ParseException):
        is_read = len(req.body.read(UNREAD_BYTES)) < UNREAD_BYTES
    if not is_read:
        req.force_close()
        _linger(sock)


def _linger(sock: Any) -> None:
    """Discards what the client still sends: closing a socket with unread data resets the connection, and the client
    loses the answer."""
    with gevent.Timeout(LINGER_SECONDS, False), suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
        left = LINGER_BYTES
        while left > 0 and (discarded := sock.recv(1 << 16)):
            left -= len(discarded)
            gevent.sleep(0)


ASIDE_THREADS = 2
"""Threads that compute take turns with the one that serves: with more of them it would wait longer for its turn."""


@cache
def _aside() -> ThreadPool:
    # On first use: gunicorn forks before.
    return ThreadPool(ASIDE_THREADS)


def run_in_native_thread(work: Callable[[], Any]) -> Any:
    """Runs `work` in a native thread while other requests of this process are served. For pure functions: greenlet
    locals and patched locks do not cross threads."""

    def caught() -> tuple[Any, Exception | None]:
        # gevent would print the traceback of an exception, which may be the refusal of what a client sent.
        try:
            return work(), None
        except Exception as problem:
            return None, problem

    result, problem = _aside().apply(caught)
    if problem is not None:
        raise problem
    return result


class OurLogger(Logger):  # type: ignore[misc]
    """Writes gunicorn's log lines in the format of ours."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        configure_logs(settings_or_exit().log_level)
        log_crashes()
        self.error_log.handlers = []
        self.error_log.propagate = True
