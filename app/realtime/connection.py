"""One WebSocket connection: locked writes with a deadline, and a reader thread.

simple-websocket makes the handshake only: its loop sends from two threads without a lock and without a deadline.
"""

import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from wsproto import WSConnection
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage
from wsproto.utilities import ProtocolError

from app.realtime.feed import Message

PING_SECONDS = 25.0
WRITE_SECONDS = 20.0
"""A client that reads no frame for this long is disconnected. A frame has at most 64 KB (see `feed.frames_of`)."""
GOODBYE_SECONDS = 2.0
KERNEL_BYTES = 128 * 1024
"""Send buffer in the kernel. Without this limit it would grow to megabytes for each client that does not read."""
RECEIVE_BYTES = 4096

TOO_SLOW = 4408
GOING_AWAY = 1001
_TEXT_ONLY = 1003
_TOO_BIG = 1009


class TooSlow(Exception):
    """The client read nothing within the deadline."""


class Connection:
    def __init__(self, sock: socket.socket, protocol: WSConnection, most_bytes: int) -> None:
        self._sock = sock
        self._protocol = protocol
        self._most_bytes = most_bytes
        self._sending = threading.Lock()
        self._writing = threading.Lock()
        self._unsent = b""
        """The rest of a partly sent frame. It must be sent before anything else."""
        self._is_closed = False
        self._is_answered = True
        self._next_ping = time.monotonic() + PING_SECONDS
        self._message: list[str] = []
        self._message_bytes = 0
        self._reader: threading.Thread | None = None
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        # Any timeout makes the file descriptor non-blocking, which `_rest_of` needs.
        sock.settimeout(PING_SECONDS)
        self._is_plain = not isinstance(sock, ssl.SSLSocket)

    def start(self, on_text: Callable[[str], None], on_end: Callable[[], None]) -> None:
        def read() -> None:
            try:
                self._read(on_text)
            finally:
                on_end()

        self._reader = threading.Thread(target=read, name="websocket-reader", daemon=True)
        self._reader.start()

    def send(self, frames: Iterable[bytes]) -> None:
        """Sends one message. Pings and a close may go between its frames, other messages not."""
        with self._sending:
            for frame in frames:
                self._write(frame)

    def send_each(self, messages: Callable[[], Iterable[Message]]) -> None:
        """Sends all available messages. `messages` is called under the lock, so that no other sender interleaves."""
        with self._sending:
            self._write(b"")
            for message in messages():
                for frame in message.frames():
                    self._write(frame)

    def send_each_at_once(self, next_message: Callable[[], Message | None]) -> bool:
        """Like `send_each`, but never blocks. False when messages may be left for `send_each`."""
        if not self._is_plain or not self._sending.acquire(blocking=False):
            return False
        try:
            if not self._writing.acquire(blocking=False):
                return False
            try:
                while not (self._is_closed or self._unsent):
                    message = next_message()
                    if message is None:
                        return True
                    self._unsent = self._rest_of(b"".join(message.frames()))
                return False
            finally:
                self._writing.release()
        finally:
            self._sending.release()

    def close(self, code: int, reason: str) -> None:
        with self._writing:
            if not self._is_closed:
                self._is_closed = True
                self._say_goodbye(CloseConnection(code, reason))
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(GOODBYE_SECONDS)

    def _write(self, frame: bytes) -> None:
        deadline = time.monotonic() + WRITE_SECONDS
        with self._writing:
            if self._is_closed:
                raise ConnectionResetError("the connection is closed")
            unsent = memoryview(self._unsent + frame)
            self._unsent = b""
            while unsent:
                self._sock.settimeout(max(deadline - time.monotonic(), 0.001))
                try:
                    unsent = unsent[self._sock.send(unsent) :]
                except TimeoutError:
                    self._unsent = bytes(unsent)
                    raise TooSlow from None

    def _rest_of(self, frames: bytes) -> bytes:
        try:
            # Bypasses the socket object, whose timeout belongs to the reader. The descriptor itself never blocks.
            return frames[os.write(self._sock.fileno(), frames) :]
        except OSError:
            # The buffer is full or the connection is broken: sending the rest will show which.
            return frames

    def _say_goodbye(self, event: CloseConnection) -> None:
        with suppress(OSError, ProtocolError):
            goodbye = self._protocol.send(event)
            if self._unsent:
                # The client's buffers are full in the middle of a frame. A larger send buffer holds the rest of that
                # frame and the close frame until the client reads again; nothing here waits for that.
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * KERNEL_BYTES)
            self._sock.settimeout(0 if self._unsent else GOODBYE_SECONDS)
            self._sock.sendall(self._unsent + goodbye)
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def _read(self, on_text: Callable[[str], None]) -> None:
        try:
            while received := self._receive():
                self._protocol.receive_data(received)
                for event in self._protocol.events():
                    if not self._take(event, on_text):
                        self._drain()
                        return
                # Yield: otherwise a client that sends without pause would be the only one served.
                time.sleep(0)
        except (OSError, ProtocolError):
            # The client disconnected without a close frame, or sent data after one.
            return
        except TooSlow:
            self.close(TOO_SLOW, "the client did not read in time")

    def _drain(self) -> None:
        """Discards incoming data for a moment: closing a socket with unread data would lose our close frame."""
        deadline = time.monotonic() + GOODBYE_SECONDS
        while (seconds := deadline - time.monotonic()) > 0:
            self._sock.settimeout(seconds)
            if not self._sock.recv(RECEIVE_BYTES):
                return

    def _receive(self) -> bytes:
        while True:
            seconds = self._next_ping - time.monotonic()
            if seconds <= 0:
                self._ping()
                continue
            self._sock.settimeout(seconds)
            with suppress(TimeoutError):
                return self._sock.recv(RECEIVE_BYTES)

    def _ping(self) -> None:
        if not self._is_answered:
            raise TooSlow
        self._is_answered = False
        self._next_ping = time.monotonic() + PING_SECONDS
        self._write(self._protocol.send(Ping()))

    def _take(self, event: Event, on_text: Callable[[str], None]) -> bool:
        if isinstance(event, Ping):
            self._write(self._protocol.send(event.response()))
        elif isinstance(event, Pong):
            self._is_answered = True
        elif isinstance(event, TextMessage):
            return self._take_text(event, on_text)
        elif isinstance(event, BytesMessage):
            self.close(_TEXT_ONLY, "only text messages are accepted")
            return False
        elif isinstance(event, CloseConnection):
            # A close frame, or wsproto's report of a protocol error: both carry the code to answer with.
            self.close(event.code, event.reason or "")
            return False
        return True

    def _take_text(self, event: TextMessage, on_text: Callable[[str], None]) -> bool:
        # A message may have any number of empty fragments; they are not stored.
        if event.data:
            self._message.append(event.data)
        self._message_bytes += len(event.data.encode())
        if self._message_bytes > self._most_bytes:
            self.close(_TOO_BIG, f"a message may have at most {self._most_bytes} bytes")
            return False
        if event.message_finished:
            text = "".join(self._message)
            self._message, self._message_bytes = [], 0
            on_text(text)
        return True
