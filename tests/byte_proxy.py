"""Carries bytes between clients and a server of any kind, and loses them as it is told."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

Address = Path | tuple[str, int]
"""A unix socket, or a host and a port."""


class ByteProxy:
    def __init__(self, target: Address) -> None:
        self.target = target
        """Where new connections lead."""
        self.lose_answer_to: bytes | None = None
        """The next connection that sends this is closed when the server has answered, and the answer is lost."""
        self.answers_instead: list[bytes] = []
        """What the next connections are answered in place of the server, one each."""
        self.added_after: tuple[bytes, bytes] | None = None
        """Whoever sends the first is told the second, besides what the server answers."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lines: list[_Line] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def forget_connections(self) -> None:
        """What is sent on those there are is swallowed from now on, both ways; none of them is closed."""
        for line in self._lines:
            line.is_dead = True

    def hang_up(self) -> None:
        """Those there are end; new ones are accepted."""
        for line in self._lines:
            line.hang_up()

    def close(self) -> None:
        self._listener.close()
        self.hang_up()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.answers_instead:
                    client.recv(65536)
                    client.sendall(self.answers_instead.pop(0))
                    client.close()
                    continue
                try:
                    server = _connected(self.target)
                except OSError:
                    client.close()
                    continue
                self._lines.append(_Line(self, client, server))


class _Line:
    """One connection of a client, and the one to the server that goes with it."""

    def __init__(self, proxy: ByteProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self.is_dead = False
        self._answer_is_lost = False
        for work in (self._carry_questions, self._carry_answers):
            threading.Thread(target=work, daemon=True).start()

    def hang_up(self) -> None:
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _carry_questions(self) -> None:
        with suppress(OSError):
            while data := self._client.recv(65536):
                wanted = self._proxy.lose_answer_to
                if wanted is not None and wanted in data:
                    self._proxy.lose_answer_to = None
                    self._answer_is_lost = True
                added = self._proxy.added_after
                if added is not None and added[0] in data:
                    self._client.sendall(added[1])
                if not self.is_dead:
                    self._server.sendall(data)
        self.hang_up()

    def _carry_answers(self) -> None:
        with suppress(OSError):
            while data := self._server.recv(65536):
                if self._answer_is_lost:
                    break
                if not self.is_dead:
                    self._client.sendall(data)
        self.hang_up()


def _connected(target: Address) -> socket.socket:
    if not isinstance(target, Path):
        return socket.create_connection(target, timeout=None)
    made = socket.socket(socket.AF_UNIX)
    made.connect(str(target))
    return made


@contextmanager
def byte_proxy(target: Address) -> Iterator[ByteProxy]:
    proxy = ByteProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
