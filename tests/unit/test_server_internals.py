"""What app/http/server knows of gunicorn, gevent and simple-websocket from the inside.

A test here that fails after an upgrade names what has changed and what to look at. When it is looked at, the test, the
code and app/http/server/README.md are changed together.
"""

import inspect
import re
import tomllib
from importlib.metadata import version
from typing import Any

import gevent
import gevent.socket
import pytest
from flask_sock import Sock
from gunicorn.glogging import Logger
from gunicorn.http import errors, wsgi
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader
from gunicorn.workers.base import Worker
from gunicorn.workers.base_async import AsyncWorker
from gunicorn.workers.ggevent import GeventWorker
from harness import REPOSITORY
from packaging.requirements import Requirement
from simple_websocket import Server

from app.http.server import refusals

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
REQUIREMENTS = {one.name: one for one in map(Requirement, PROJECT["dependencies"])}
CAPPED = (
    *("celery", "kombu", "redis", "flask-openapi3"),
    *("gunicorn", "gevent", "flask-sock", "simple-websocket", "wsproto"),
)


@pytest.mark.parametrize("name", CAPPED)
def test_a_library_whose_behaviour_we_depend_on_closely_is_capped(name: str) -> None:
    specifier = REQUIREMENTS[name].specifier
    assert any(one.operator == "<" for one in specifier), f"{name} needs an upper limit in pyproject.toml"
    assert specifier.contains(version(name)), (
        f"{name} {version(name)} is installed, and pyproject.toml wants {specifier}"
    )


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("timeout_ctx", ["self"]),
        ("handle_request", ["self", "listener_name", "req", "sock", "addr"]),
        ("handle_error", ["self", "req", "client", "addr", "exc"]),
        ("handle_exit", ["self", "sig", "frame"]),
    ],
)
def test_gunicorns_worker_has_the_methods_that_we_override(name: str, parameters: list[str]) -> None:
    method = getattr(GeventWorker, name, None)
    assert method is not None, f"gunicorn's GeventWorker has no {name} any more: what calls ApiWorker.{name} now?"
    found = list(inspect.signature(method).parameters)
    assert found == parameters, f"{name} takes {found} now: change ApiWorker.{name} in app/http/server/worker.py"


def test_gunicorn_waits_for_a_request_inside_timeout_ctx_and_closes_when_none_came() -> None:
    source = inspect.getsource(AsyncWorker.handle)
    assert re.search(r"with self\.timeout_ctx\(\):\s+req = next\(parser\)\s+if not req:\s+break", source), (
        "gunicorn's keep-alive loop is another one now. ApiWorker.timeout_ctx must surround the wait for the next "
        "request and nothing else, or a SIGTERM cuts off requests in progress: compare with AsyncWorker.handle"
    )
    assert "except StopIteration" in source, "does a StopIteration from handle_request still end the connection?"
    assert "self.handle_error(req, client, addr, e)" in source, "who answers what cannot be parsed now?"


def test_gunicorns_handler_of_sigterm_only_sets_alive() -> None:
    body = inspect.getsource(Worker.handle_exit).split(":", 1)[1].split()
    assert body == ["self.alive", "=", "False"], "gunicorn does more at SIGTERM now: look at ApiWorker.handle_exit"


def parsed(sent: bytes) -> Any:
    from gunicorn.config import Config

    return Request(Config(), IterUnreader(iter([sent])), ("127.0.0.1", 1))


def test_a_request_of_gunicorn_has_a_body_to_read_and_can_be_made_the_last_of_its_connection() -> None:
    request = parsed(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
    what = "app/http/server/worker.py discards unread bodies with it (_discard_body)"
    assert request.body.read(3) == b"hel", f"Request.body.read(size) is another one now: {what}"
    assert request.body.read(9) == b"lo", f"Request.body.read(size) is another one now: {what}"
    assert request.body.read(9) == b"", f"Request.body.read at the end is another one now: {what}"
    assert request.should_close() is False
    request.force_close()
    assert request.should_close() is True, f"Request.force_close does not end the connection any more: {what}"
    assert parsed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").body.read(9) == b"", f"a GET has a body to wait for now: {what}"


def test_a_broken_chunk_raises_what_the_error_handler_is_registered_for() -> None:
    request = parsed(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
    with pytest.raises(refusals.BrokenBody):
        request.body.read(9)


def test_every_parse_error_of_gunicorn_is_known() -> None:
    """A class that is not in the table is a 400: right for those below."""
    plain = {
        *("InvalidChunkSize", "ChunkMissingTerminator", "InvalidChunkExtension", "InvalidProxyLine"),
        *("InvalidProxyHeader", "ForbiddenProxyRequest", "InvalidSchemeHeaders", "InvalidH2CPreface"),
    }
    ours = {"ConfigurationProblem", "InvalidResponseHeader", "InvalidResponseHeaderName"}
    known = {one.__name__ for one in refusals._REFUSALS} | plain | ours | {"ParseException"}
    found = {
        name for name, one in vars(errors).items() if inspect.isclass(one) and issubclass(one, errors.ParseException)
    }
    assert found == known, (
        f"gunicorn's parse errors have changed: new {sorted(found - known)}, gone {sorted(known - found)}. "
        "Choose a status and words for each in app/http/server/refusals.py; the words must not quote the request"
    )


def test_gunicorn_passes_the_clients_socket_in_the_environ() -> None:
    assert '"gunicorn.socket": sock' in inspect.getsource(wsgi.default_environ), (
        'environ["gunicorn.socket"] is gone: app/http/server/sockets.py sets a stream\'s write deadline on it, '
        "and simple-websocket finds its socket there"
    )


def test_gunicorns_logger_has_what_ours_changes() -> None:
    assert list(inspect.signature(Logger.setup).parameters) == ["self", "cfg"], "look at app/http/server/worker.py"
    assert "self.error_log" in inspect.getsource(Logger.__init__), (
        "look at app/http/server/worker.py: error_log is gone"
    )


def test_a_timeout_of_gevent_says_whether_it_is_pending_and_ends_its_block_when_thrown() -> None:
    what = "app/http/server/worker.py closes idle connections with it (_expire)"
    ended = []

    def wait() -> None:
        with gevent.Timeout(60, False) as timeout:
            timeouts.append(timeout)
            gevent.sleep(50)
        ended.append(timeout.pending)

    timeouts: list[gevent.Timeout] = []
    waiting = gevent.spawn(wait)
    gevent.sleep(0)
    assert timeouts[0].pending, f"a Timeout that runs is not pending any more: {what}"
    gevent.get_hub().loop.run_callback(waiting.throw, timeouts[0])
    waiting.join(10)
    assert ended == [False], f"a Timeout that is thrown does not end its own block silently any more: {what}"


def test_a_read_of_gevent_that_finds_data_does_not_yield() -> None:
    """If it did, the yield in ApiWorker.timeout_ctx and in _linger could go."""
    one, other = gevent.socket.socketpair()
    with one, other:
        one.sendall(b"data")
        others_ran: list[bool] = []
        gevent.spawn(others_ran.append, True)
        assert other.recv(4) == b"data"
        assert others_ran == [], (
            "gevent's recv yields now: gevent.sleep(0) in app/http/server/worker.py may be needless"
        )


def test_simple_websocket_lets_its_thread_be_replaced_and_shows_its_socket_and_protocol() -> None:
    what = "look at app/http/server/sockets.py"
    assert "thread_class" in inspect.signature(Server.__init__).parameters, f"Server takes no thread_class: {what}"
    source = inspect.getsource(Server.__mro__[1].__init__)
    for attribute in ("self.sock = sock", "self.ws = WSConnection(connection_type)", "self.connected = False"):
        assert attribute in source, f"simple-websocket has no `{attribute}` any more: {what}"
    used = set(re.findall(r"self\.thread\.(\w+)", source))
    assert used == {"name", "start"}, (
        f"simple-websocket uses {used} of its thread now, _NoThread has name and start: {what}"
    )


def test_flask_sock_sends_nothing_on_a_connection_that_is_not_connected_and_then_ends_it() -> None:
    what = "look at app/http/server/sockets.py (take_over)"
    assert "if not self.connected:\n            raise ConnectionClosed" in inspect.getsource(Server.close), what
    source = inspect.getsource(Sock.route)
    assert "SOCK_SERVER_OPTIONS" in source, f"flask-sock has no SOCK_SERVER_OPTIONS any more: {what}"
    assert "elif ws.mode == 'gunicorn':\n                            raise StopIteration()" in source, (
        f"how does flask-sock tell gunicorn that the connection is over now? {what}"
    )
