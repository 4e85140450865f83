"""Messages handed over by whoever has news, without waking the listener: none is torn, lost or out of order."""

import socket
import threading
from collections.abc import Iterator
from uuid import UUID

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.frame_protocol import FrameProtocol, Opcode

from app.messaging.incoming import StateMark
from app.realtime.connection import Connection
from app.realtime.feed import LOG_LENGTH, PIECE_CHARACTERS, Bell, Feed, Item, Listener, Message

Wire = tuple[Connection, socket.socket]
RUNNING = StateMark("running", 0)


@pytest.fixture
def listener() -> Listener:
    feed = Feed(UUID(int=1))
    feed.start(0, RUNNING, "2026-11-16T07:24:24.377Z")
    made = Listener(feed, 0)
    made.bell = CountingBell()
    feed.add(made)
    return made


@pytest.fixture
def wire(listener: Listener) -> Iterator[Wire]:
    """The listener's connection, to which turns are handed over, and its other end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(20)
        connection = Connection(ours, WSConnection(ConnectionType.SERVER), most_bytes=1000)
        listener.hand_over = lambda: connection.send_each_at_once(listener.take_next)
        yield connection, theirs


def an_item(seq: int, length: int = 10) -> Item:
    return Item(seq, str(seq), f'{{"seq":{seq},"words":"{"x" * length}"}}')


def texts(theirs: socket.socket, count: int) -> list[str]:
    """The next messages as the other side reads them, with every frame parsed."""
    theirs.settimeout(20)
    protocol = FrameProtocol(client=True, extensions=[])
    found, text = [], ""
    while len(found) < count:
        protocol.receive_bytes(theirs.recv(65536))
        for frame in protocol.received_frames():
            assert frame.opcode in (Opcode.TEXT, Opcode.CONTINUATION)
            text += frame.payload
            if frame.message_finished:
                found.append(text)
                text = ""
    return found


def message_of(item: Item) -> str:
    return f'{{"event":"new_argument","data":{item.data}}}'


class CountingBell(Bell):
    count = 0

    def ring(self) -> None:
        self.count += 1
        super().ring()


def rings(listener: Listener) -> bool:
    """It was woken since the last look, and would not have gone to sleep either."""
    assert isinstance(listener.bell, CountingBell)
    was_rung, listener.bell.count = listener.bell.count > 0, 0
    assert listener.wait(0) == was_rung
    return was_rung


def test_a_turn_goes_out_at_once_and_nobody_is_woken(wire: Wire, listener: Listener) -> None:
    _, theirs = wire
    items = [an_item(1), an_item(2, 3 * PIECE_CHARACTERS), an_item(3)]
    for item in items:
        listener.feed.offer([item], RUNNING)
    assert (listener.seq, rings(listener)) == (3, False)
    assert texts(theirs, 3) == [message_of(item) for item in items]


def test_what_a_full_connection_does_not_take_is_left_to_the_listener_whole(wire: Wire, listener: Listener) -> None:
    connection, theirs = wire
    items = [an_item(seq, 60_000) for seq in range(1, LOG_LENGTH)]
    for item in items:
        listener.feed.offer([item], RUNNING)
    assert 0 < listener.seq < len(items)
    assert rings(listener)

    def the_rest() -> Iterator[Message]:
        while message := listener.take_next():
            yield message

    sender = threading.Thread(target=connection.send_each, args=(the_rest,))
    sender.start()
    assert texts(theirs, len(items)) == [message_of(item) for item in items]
    sender.join()
    assert not rings(listener)
    listener.feed.offer([an_item(LOG_LENGTH)], RUNNING)
    assert texts(theirs, 1) == [message_of(an_item(LOG_LENGTH))]


def test_the_listener_is_woken_for_the_rest_of_a_turn_also_when_it_was_the_last(wire: Wire, listener: Listener) -> None:
    listener.feed.offer([an_item(1, 2_000_000)], RUNNING)
    assert (listener.seq, rings(listener)) == (1, True)


def test_a_message_that_is_being_sent_is_not_interrupted(wire: Wire, listener: Listener) -> None:
    connection, theirs = wire
    slow = Message("initial_state", "{}")

    def messages() -> Iterator[Message]:
        listener.feed.offer([an_item(1)], RUNNING)
        yield slow

    connection.send_each(messages)
    assert (listener.seq, rings(listener)) == (0, True)
    assert texts(theirs, 1) == ['{"event":"initial_state","data":{}}']


def test_a_listener_is_woken_when_the_turns_are_no_longer_at_hand(wire: Wire, listener: Listener) -> None:
    listener.feed.start(5, RUNNING, listener.feed.created_at)
    assert (listener.seq, rings(listener)) == (0, True)


def test_nothing_is_handed_over_after_the_goodbye(wire: Wire, listener: Listener) -> None:
    connection, _ = wire
    connection.close(1001, "")
    listener.feed.offer([an_item(1)], RUNNING)
    assert (listener.seq, rings(listener)) == (0, True)


def test_passing_events_keep_their_place_between_turns(listener: Listener) -> None:
    feed = listener.feed
    feed.say("argument_delta", '"before 1"')
    feed.offer([an_item(1)], RUNNING)
    feed.tell("state_changed", '"after 1"', StateMark("paused", 0))
    feed.offer([an_item(2)], RUNNING)
    taken = []
    while message := listener.take_next():
        taken.append(message.seq if isinstance(message, Item) else message.data)
    assert taken == ['"before 1"', 1, '"after 1"', 2]
