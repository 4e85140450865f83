"""What hostile clients are made of: raw sockets, and a look at the process that serves them."""

import base64
import errno
import os
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness import Api, Place

PATIENCE_SECONDS = 60.0
"""For a server that is busy; what must not happen is that it never answers."""
SHORT_SECONDS = 2
"""How long the API of these tests waits for anybody."""
HANDSHAKE = (
    b"Connection: Upgrade",
    b"Upgrade: websocket",
    b"Sec-WebSocket-Version: 13",
    b"Sec-WebSocket-Key: " + base64.b64encode(b"0123456789abcdef"),
)


def connected(api: Api) -> socket.socket:
    url = api.http.base_url
    return socket.create_connection((url.host, url.port), timeout=PATIENCE_SECONDS)


def head(line: str, *headers: str | bytes) -> bytes:
    """For localhost, unless a header names another host."""
    lines = [header if isinstance(header, bytes) else header.encode("latin-1") for header in headers]
    host = [] if any(header.lower().startswith(b"host:") for header in lines) else [b"Host: localhost"]
    return b"\r\n".join([f"{line} HTTP/1.1".encode(), *host, *lines, b"", b""])


def to_the_end(sock: socket.socket) -> bytes:
    """All that comes until the server closes. A server that never does is a failure: the socket's timeout."""
    received = b""
    with suppress(ConnectionError):
        while piece := sock.recv(1 << 16):
            received += piece
    return received


def status_of(answer: bytes) -> int | None:
    """None when the server closed without a word."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.") else None


def exchange(api: Api, sent: bytes, hang_up: bool = True) -> bytes:
    """What the server says to these bytes, if nothing follows them."""
    with connected(api) as sock, suppress(ConnectionError):
        sock.sendall(sent)
        if hang_up:
            _hang_up(sock)
        return to_the_end(sock)
    return b""


def _hang_up(sock: socket.socket) -> None:
    """Sends no more, and goes on reading."""
    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError as problem:
        # The server has already answered and reset the connection; what it said may still be read.
        if problem.errno != errno.ENOTCONN:
            raise


def send_all_or_be_cut_off(sock: socket.socket, pieces: Iterable[bytes]) -> int:
    sent = 0
    with suppress(ConnectionError):
        for piece in pieces:
            sock.sendall(piece)
            sent += len(piece)
    return sent


def websocket(api: Api, path: str = "/ws") -> socket.socket:
    """After the handshake."""
    sock = connected(api)
    sock.sendall(head(f"GET {path}", *HANDSHAKE))
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += sock.recv(4096)
    assert status_of(answer) == 101, answer
    return sock


def frame(payload: bytes, first: int = 0x81, masked: bool = True, length: int | None = None) -> bytes:
    """`first`: FIN, reserved bits and opcode. `length`: what it says, whatever follows."""
    size = len(payload) if length is None else length
    mask_bit = 0x80 if masked else 0
    if size < 126:
        start = bytes([first, mask_bit | size])
    elif size < 1 << 16:
        start = bytes([first, mask_bit | 126]) + size.to_bytes(2)
    else:
        start = bytes([first, mask_bit | 127]) + size.to_bytes(8)
    # A mask of zeros leaves the payload as it is.
    return start + (bytes(4) if masked else b"") + payload


@dataclass(frozen=True)
class Server:
    """The process that serves, below gunicorn's master."""

    pid: int

    @staticmethod
    def of(place: Place) -> "Server":
        master = place.programs[-1].pid
        [child] = Path(f"/proc/{master}/task/{master}/children").read_text().split()
        return Server(int(child))

    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) / 1024

    def is_alive(self) -> bool:
        return Path(f"/proc/{self.pid}").exists()


def answers_others(api: Api) -> None:
    """A new connection is accepted, and its request answered."""
    answer = exchange(api, head("GET /health", "Connection: close"), hang_up=False)
    assert status_of(answer) == 200, answer[:200]


def dribble(sockets: list[socket.socket], drop: bytes, seconds: float) -> list[socket.socket]:
    """Sends a little to each, again and again; those that are still open in the end."""
    still_open = list(sockets)
    until = time.monotonic() + seconds
    while still_open and time.monotonic() < until:
        for sock in list(still_open):
            try:
                sock.send(drop)
            except OSError:
                still_open.remove(sock)
        time.sleep(0.1)
    return still_open


Stage = tuple[Api, Server]


def assert_nothing_went_wrong(log: Path) -> None:
    for line in log.read_text().splitlines():
        for failure in ("request.failed", "page.failed", "websocket.failed"):
            assert failure not in line, line
        assert "Traceback" not in line, log.read_text()
