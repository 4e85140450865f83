"""Thousands of watchers in one process: the same for our relay and for the reference.

It does as little as it can between the kernel and the clock. Everything that is ready is read and timed first, and only
then looked into.
"""

import base64
import json
import multiprocessing
import resource
import selectors
import socket
import time
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

AT_ONCE = 100
"""Watchers that connect together; more would only wait in the server's queue."""
CONNECT_SECONDS = 120.0
LAST_SECONDS = 60.0
"""For the last turns to come in. Whatever is not there then is lost."""
QUIET_SECONDS = 0.3
"""Nothing may come after the last turn: it would be one that came twice."""
_PING, _CLOSE = 0x9, 0x8
_HEADER_BYTES = {126: 4, 127: 10}

Receipts = dict[tuple[str, int], "array[int]"]
"""When each turn (debate, seq) came to each of its watchers, in nanoseconds of the machine's clock."""


def raise_file_limit() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Watcher:
    __slots__ = ("_is_open", "_pieces", "_rest", "debate_id", "seq", "sock")

    def __init__(self, port: int, debate_id: str) -> None:
        self.debate_id = debate_id
        self.seq = 0
        """The last turn that came; the debate begins with its motion, which comes with the first message."""
        self._is_open = False
        self._rest = b""
        self._pieces: list[bytes] = []
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=10)
        key = base64.b64encode(bytes(16)).decode()
        self.sock.sendall(
            f"GET /ws?debate_id={debate_id} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )

    def messages(self, received: bytes) -> Iterator[bytes]:
        """The whole messages that these bytes complete. Pings are answered on the way."""
        assert received, "the server closed a connection"
        data = self._rest + received
        if not self._is_open:
            head, end, rest = data.partition(b"\r\n\r\n")
            self._rest = data
            if not end:
                return
            assert head.startswith(b"HTTP/1.1 101 "), head
            self._is_open, data = True, rest
        at = 0
        while (found := _frame(data, at)) is not None:
            first_byte, payload, at = found
            if first_byte & 0xF == _PING:
                # Masked, as a client must, with zeros.
                self.sock.sendall(bytes((0x8A, 0x80 | len(payload), 0, 0, 0, 0)) + payload)
                continue
            assert first_byte & 0xF != _CLOSE, f"the server said goodbye: {payload!r}"
            self._pieces.append(payload)
            if first_byte & 0x80:
                yield b"".join(self._pieces)
                self._pieces = []
        self._rest = data[at:]


def _frame(data: bytes, at: int) -> tuple[int, bytes, int] | None:
    """First byte, payload and end of the frame that begins at `at`; None when it is not whole yet."""
    if len(data) < at + 2:
        return None
    length, start = data[at + 1], at + 2
    if length in _HEADER_BYTES:
        start = at + _HEADER_BYTES[length]
        length = int.from_bytes(data[at + 2 : start])
    end = start + length
    return (data[at], data[start:end], end) if len(data) >= end else None


class Watchers:
    def __init__(self, port: int, debate_ids: list[str]) -> None:
        self.receipts: Receipts = {}
        self.all: list[Watcher] = []
        self._seq_of: dict[bytes, int | None] = {}
        """Watchers of one debate get the same bytes: they are parsed once."""
        self._selector = selectors.DefaultSelector()
        for start in range(0, len(debate_ids), AT_ONCE):
            for debate_id in debate_ids[start : start + AT_ONCE]:
                watcher = Watcher(port, debate_id)
                self._selector.register(watcher.sock, selectors.EVENT_READ, watcher)
                self.all.append(watcher)
            self.read_until(lambda: all(watcher.seq for watcher in self.all[-AT_ONCE:]), CONNECT_SECONDS)

    def read(self, seconds: float) -> None:
        received = []
        for key, _ in self._selector.select(seconds):
            received.append((key.data, key.data.sock.recv(65_536), time.time_ns()))
        for watcher, data, at in received:
            for message in watcher.messages(data):
                self._take(watcher, message, at)

    def read_until(self, condition: Any, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not everything came within {seconds} seconds"
            self.read(0.05)

    def _take(self, watcher: Watcher, message: bytes, at: int) -> None:
        if message not in self._seq_of:
            self._seq_of[message] = _seq(message, watcher.debate_id)
        seq = self._seq_of[message]
        if seq is None:
            return
        # Once, in order, with no gap: the benchmark also checks what it measures.
        assert seq == watcher.seq + 1, f"{watcher.debate_id}: {seq} came after {watcher.seq}"
        watcher.seq = seq
        if seq > 1:
            self.receipts.setdefault((watcher.debate_id, seq), array("q")).append(at)


def _seq(message: bytes, debate_id: str) -> int | None:
    """Of the turn that it announces; None for a change of state, such as that a worker has begun."""
    said = json.loads(message)
    if said["event"] == "initial_state":
        return 1
    if said["event"] == "state_changed":
        return None
    assert said["event"] == "new_argument", said["event"]
    argument = said["data"]["argument"]
    assert argument["debate_id"] == debate_id
    return int(argument["seq"])


def watch(pipe: Connection, port: int, debate_ids: list[str]) -> None:
    """A process that connects, reports it, reads up to the last turns that it is sent, and returns the receipts."""
    raise_file_limit()
    watchers = Watchers(port, debate_ids)
    pipe.send("ready")
    while not pipe.poll():
        watchers.read(0.05)
    last: dict[str, int] = pipe.recv()
    watchers.read_until(lambda: all(one.seq >= last.get(one.debate_id, 1) for one in watchers.all), LAST_SECONDS)
    quiet = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < quiet:
        watchers.read(0.05)
    assert all(one.seq == last.get(one.debate_id, 1) for one in watchers.all)
    pipe.send(watchers.receipts)


@contextmanager
def watching(port: int, debate_ids: list[str]) -> Iterator[Connection]:
    """`watch` in a separate process: it gets the last turns and returns the receipts."""
    spawn = multiprocessing.get_context("spawn")
    pipe, theirs = spawn.Pipe()
    process = spawn.Process(target=watch, args=(theirs, port, debate_ids), daemon=True)
    process.start()
    # Ours is closed, so that an end without a word is seen as one.
    theirs.close()
    try:
        assert pipe.recv() == "ready"
        yield pipe
    finally:
        process.terminate()
        process.join()


def latencies_ms(committed: Mapping[tuple[str, int], int], receipts: Receipts) -> list[float]:
    return [(at - committed[turn]) / 1e6 for turn, times in receipts.items() for at in times]


def wait_until_served(port: int, debate_id: str, seconds: float = 60) -> None:
    """Until the server at this port takes a watcher."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            watchers = Watchers(port, [debate_id])
        except (OSError, AssertionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            watchers.all[0].sock.close()
            return
