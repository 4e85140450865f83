"""The write path and the pings of one WebSocket, over a real pair of sockets, with short deadlines."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from harness import wait_until
from watchers import Pieces
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Ping, Pong, Request, TextMessage

from app.realtime import connection as module
from app.realtime.connection import Connection, TooSlow
from app.realtime.feed import PIECE_CHARACTERS, Message


class Peer:
    """The other side: reads what comes and answers pings, if it is told to."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.protocol = WSConnection(ConnectionType.CLIENT)
        self.texts: list[str] = []
        self.pings = 0
        self.pongs = 0
        self.close_code: int | None = None
        self._pieces = Pieces()

    def read(self, answers_pings: bool = True) -> bool:
        received = self.sock.recv(1 << 16)
        if not received:
            return False
        self.protocol.receive_data(received)
        for event in self.protocol.events():
            if isinstance(event, TextMessage):
                text = self._pieces.whole(event)
                if text is not None:
                    self.texts.append(text)
            elif isinstance(event, Ping):
                self.pings += 1
                if answers_pings:
                    self.sock.sendall(self.protocol.send(event.response()))
            elif isinstance(event, CloseConnection):
                self.close_code = event.code
                self.sock.sendall(self.protocol.send(event.response()))
                self.sock.shutdown(socket.SHUT_WR)
            else:
                assert isinstance(event, Pong)
                self.pongs += 1
        return True


@pytest.fixture
def pair() -> Iterator[tuple[Connection, Peer]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    protocol = WSConnection(ConnectionType.SERVER)
    peer = Peer(theirs)
    protocol.receive_data(peer.protocol.send(Request(host="here", target="/")))
    assert [type(event) for event in protocol.events()] == [Request]
    peer.protocol.receive_data(protocol.send(AcceptConnection()))
    assert [type(event) for event in peer.protocol.events()] == [AcceptConnection]
    theirs.settimeout(10)
    with ours, theirs:
        yield Connection(ours, protocol, most_bytes=1000), peer


def test_a_peer_that_answers_pings_stays_and_one_that_does_not_is_cut_off(pair, monkeypatch) -> None:
    monkeypatch.setattr(module, "PING_SECONDS", 1.0)
    connection, peer = pair
    connection._next_ping = time.monotonic()
    ended = threading.Event()
    connection.start(on_text=lambda _: None, on_end=ended.set)
    while peer.pings < 3:
        assert peer.read()
    assert not ended.is_set()
    while peer.close_code is None:
        assert peer.read(answers_pings=False)
    assert peer.close_code == 4408
    assert ended.wait(60)


def test_messages_of_two_threads_and_pongs_between_them_are_never_torn(pair) -> None:
    connection, peer = pair
    connection.start(on_text=lambda _: None, on_end=lambda: None)
    letters = "ab"
    messages = {letter: Message("long", f'"{letter * (5 * PIECE_CHARACTERS)}"') for letter in letters}

    def send(letter: str) -> None:
        for _ in range(10):
            connection.send(messages[letter].frames())

    threads = [threading.Thread(target=send, args=(letter,)) for letter in letters]
    for thread in threads:
        thread.start()
    while len(peer.texts) < 20:
        peer.sock.sendall(peer.protocol.send(Ping()))
        assert peer.read()
    for thread in threads:
        thread.join()
    whole = {f'{{"event":"long","data":"{letter * (5 * PIECE_CHARACTERS)}"}}' for letter in letters}
    assert set(peer.texts) == whole
    assert peer.pongs > 0


def test_whoever_reads_nothing_within_the_deadline_is_too_slow(pair, monkeypatch) -> None:
    monkeypatch.setattr(module, "WRITE_SECONDS", 0.3)
    connection, peer = pair
    far_too_much = 1000 * Message("long", f'"{"x" * PIECE_CHARACTERS}"').frames()
    with pytest.raises(TooSlow):
        connection.send(far_too_much)
    connection.close(4408, "too slow")
    while peer.read():
        pass
    assert peer.close_code == 4408, "the reason is there for when it looks again"


def test_every_piece_of_every_language_arrives_as_it_was(pair) -> None:
    connection, peer = pair
    text = "a½€😀" * PIECE_CHARACTERS
    sender = threading.Thread(target=lambda: connection.send(Message("long", f'"{text}"').frames()))
    sender.start()
    wait_until(lambda: peer.read() and bool(peer.texts), 60, "it came")
    sender.join()
    assert peer.texts == [f'{{"event":"long","data":"{text}"}}']


def test_a_message_of_any_number_of_empty_pieces_takes_no_memory(pair) -> None:
    connection, peer = pair
    texts: list[str] = []
    connection.start(on_text=texts.append, on_end=lambda: None)
    for _ in range(1000):
        peer.sock.sendall(peer.protocol.send(TextMessage("", message_finished=False)))
    peer.sock.sendall(peer.protocol.send(Ping()))
    while not peer.pongs:
        assert peer.read()
    # Its pong says that all of them were taken.
    assert connection._message == []
    peer.sock.sendall(peer.protocol.send(TextMessage("whole")))
    wait_until(lambda: texts == ["whole"], 60, "the message is whole")
