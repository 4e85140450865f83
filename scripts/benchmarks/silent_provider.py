"""A provider of models that takes every call and never answers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def silent_provider() -> Iterator[str]:
    """Its base URL. What comes is accepted and kept open."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=512) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    kept.append(server.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    for connection in kept:
        connection.close()
