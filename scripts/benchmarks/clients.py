"""Fifty clients in one process, each with a connection that it keeps: the same for our API and for the reference.

It does as little as it can between an answer and the next question, so that the server is what is measured.
"""

import itertools
import selectors
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection


@dataclass(frozen=True)
class Answered:
    seconds: float
    milliseconds: list[float]
    """Of each response."""


@dataclass
class _Client:
    sock: socket.socket
    asked_at: float = 0.0
    received: bytes = b""
    wanted: int = 0
    """Bytes of the whole response, after its head has arrived."""

    def ask(self, request: bytes) -> None:
        self.received, self.wanted = b"", 0
        self.asked_at = time.perf_counter()
        self.sock.sendall(request)

    def has_answer(self) -> bool:
        data = self.sock.recv(262_144)
        assert data, "the server closed a connection"
        self.received += data
        if not self.wanted:
            head, end, _ = self.received.partition(b"\r\n\r\n")
            if not end:
                return False
            assert head.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 201 ")), self.received[:500]
            length = head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
            self.wanted = len(head) + 4 + int(length)
        return len(self.received) >= self.wanted


@dataclass
class Clients:
    port: int
    count: int
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def __post_init__(self) -> None:
        for _ in range(self.count):
            sock = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(sock, selectors.EVENT_READ, _Client(sock))

    def keep_asking(self, requests: Iterator[bytes], seconds: float) -> Answered:
        began = time.perf_counter()
        until = began + seconds
        taken = []
        waiting = 0
        for key in list(self._selector.get_map().values()):
            key.data.ask(next(requests))
            waiting += 1
        while waiting:
            ready = self._selector.select(60)
            assert ready, "no answer for a minute"
            for key, _ in ready:
                client: _Client = key.data
                if not client.has_answer():
                    continue
                now = time.perf_counter()
                taken.append((now - client.asked_at) * 1000)
                if now < until:
                    client.ask(next(requests))
                else:
                    waiting -= 1
        return Answered(time.perf_counter() - began, taken)

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.data.sock.close()


def get(port: int, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()


def post(port: int, path: str, body: str) -> bytes:
    said = body.encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(said)}\r\n\r\n".encode() + said


def ask(pipe: Connection, port: int, count: int) -> None:
    """A process: for each list of requests and number of seconds that comes, hands over how they were answered."""
    clients = Clients(port, count)
    while (wanted := pipe.recv()) is not None:
        requests, seconds = wanted
        pipe.send(clients.keep_asking(itertools.cycle(requests), seconds))
    clients.close()
