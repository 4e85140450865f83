"""The real API as a process, and one persistent connection to it, with minimal overhead of the client."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

from app.cli.children import API_COMMAND, Child, end
from app.settings import Settings


@contextmanager
def api(settings: Settings) -> Iterator[tuple[Child, HTTPConnection]]:
    server = Child("API", API_COMMAND, settings, settings.data_dir / "api.log")
    connection = HTTPConnection("127.0.0.1", settings.server_port, timeout=60)
    try:
        while True:
            server.check()
            try:
                timed(connection, "GET", "/health")
                break
            except OSError:
                connection.close()
                time.sleep(0.1)
        yield server, connection
    finally:
        connection.close()
        end([server])


def timed(connection: HTTPConnection, method: str, path: str) -> float:
    """Milliseconds until the whole answer was there."""
    began = time.perf_counter()
    body = "{}" if method == "POST" else None
    connection.request(method, path, headers={"Content-Type": "application/json"}, body=body)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, f"{method} {path}: {answer.status}"
    return (time.perf_counter() - began) * 1000
