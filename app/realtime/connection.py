"""One WebSocket: a single way to write, a reader of its own, and a deadline for whoever does not read.

flask-sock's library makes the handshake. Its own loop is not used: it writes with `send` from two threads and no lock,
so a large message to a slow reader would be torn, and it has no deadline.
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

from app.realtime.messages import Message

PING_SECONDS = 25.0
WRITE_SECONDS = 20.0
"""A reader that takes no frame for this long is cut off. A frame has at most 64 KB (see `messages`)."""
GOODBYE_SECONDS = 2.0
"""How long the other side may take to answer a close."""
KERNEL_BYTES = 128 * 1024
"""What the kernel keeps for a reader that does not read; left to itself it would be megabytes for each."""
RECEIVE_BYTES = 4096

TOO_SLOW = 4408
GOING_AWAY = 1001
_TEXT_ONLY = 1003
_TOO_BIG = 1009


class TooSlow(Exception):
    """The other side took nothing within the deadline."""


class Connection:
    def __init__(self, sock: socket.socket, protocol: WSConnection, most_bytes: int) -> None:
        """`protocol` has the handshake behind it; `most_bytes` is the longest message taken from the other side."""
        self._sock = sock
        self._protocol = protocol
        self._most_bytes = most_bytes
        self._sending = threading.Lock()
        """For one message"""
        self._writing = threading.Lock()
        """For one frame"""
        self._unsent = b""
        """The rest of a frame of which the other side has the beginning. Nothing goes before it."""
        self._is_closed = False
        self._is_answered = True
        self._next_ping = time.monotonic() + PING_SECONDS
        self._message: list[str] = []
        self._message_bytes = 0
        self._reader: threading.Thread | None = None
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        # With a timeout, of whatever length, the descriptor behind the socket does not block.
        sock.settimeout(PING_SECONDS)
        self._is_plain = not isinstance(sock, ssl.SSLSocket)

    def start(self, on_text: Callable[[str], None], on_end: Callable[[], None]) -> None:
        """Reads from now on. `on_text` takes each message before the next is read; `on_end` is called once."""

        def read() -> None:
            try:
                self._read(on_text)
            finally:
                on_end()

        self._reader = threading.Thread(target=read, name="websocket-reader", daemon=True)
        self._reader.start()

    def send(self, frames: Iterable[bytes]) -> None:
        """One message, whole. Pings and a close may go between its frames, another message not."""
        with self._sending:
            for frame in frames:
                self._write(frame)

    def send_each(self, messages: Callable[[], Iterable[Message]]) -> None:
        """All messages that are there. They are asked for in here, so that no other sender comes between."""
        with self._sending:
            self._write(b"")
            for message in messages():
                for frame in message.frames():
                    self._write(frame)

    def send_each_at_once(self, next_message: Callable[[], Message | None]) -> bool:
        """The same, but without waiting for anything; false when something may be left for `send_each`."""
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
        """Says why, and waits a moment for the answer, so that the other side gets to read it."""
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
        """What the kernel does not take at once."""
        try:
            # Around the socket object, whose timeout is the reader's. Behind it the descriptor never blocks.
            return frames[os.write(self._sock.fileno(), frames) :]
        except OSError:
            # A full buffer, or a broken connection: whoever sends the rest finds out which.
            return frames

    def _say_goodbye(self, event: CloseConnection) -> None:
        with suppress(OSError, ProtocolError):
            goodbye = self._protocol.send(event)
            if self._unsent:
                # The reader's buffers are full in the middle of a frame. A little more room in ours takes the rest of
                # that frame and the reason, for when the reader looks again; nobody waits for that.
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
                # Somebody who sends without end would otherwise be the only one served.
                time.sleep(0)
        except (OSError, ProtocolError):
            # Gone without a word, or it spoke on after its goodbye.
            return
        except TooSlow:
            self.close(TOO_SLOW, "nothing was read in time")

    def _drain(self) -> None:
        """What still comes is thrown away for a moment: closing over it would take our goodbye from the other side."""
        deadline = time.monotonic() + GOODBYE_SECONDS
        while (seconds := deadline - time.monotonic()) > 0:
            self._sock.settimeout(seconds)
            if not self._sock.recv(RECEIVE_BYTES):
                return

    def _receive(self) -> bytes:
        """The next bytes, with a ping whenever one is due; nothing at the end."""
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
        """False when nothing more is to be read."""
        if isinstance(event, Ping):
            self._write(self._protocol.send(event.response()))
        elif isinstance(event, Pong):
            self._is_answered = True
        elif isinstance(event, TextMessage):
            return self._take_text(event, on_text)
        elif isinstance(event, BytesMessage):
            self.close(_TEXT_ONLY, "only text is taken")
            return False
        elif isinstance(event, CloseConnection):
            # Its goodbye, or a frame that breaks the protocol: either way the answer carries the code.
            self.close(event.code, event.reason or "")
            return False
        return True

    def _take_text(self, event: TextMessage, on_text: Callable[[str], None]) -> bool:
        # Empty pieces, of which a message may have any number, are not gathered.
        if event.data:
            self._message.append(event.data)
        self._message_bytes += len(event.data.encode())
        if self._message_bytes > self._most_bytes:
            self.close(_TOO_BIG, f"a message has at most {self._most_bytes} bytes")
            return False
        if event.message_finished:
            text = "".join(self._message)
            self._message, self._message_bytes = [], 0
            on_text(text)
        return True
