"""A feed: the last turns of one debate, and its listeners.

Every listener pulls from its own position, which only moves to the next seq: no turn twice, out of order or after a
gap, even if events are lost, duplicated or late. Nothing is queued per listener.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from uuid import UUID

from wsproto.frame_protocol import FrameProtocol

from app.core.debate import CLOSED_STATUSES
from app.messaging.incoming import StateMark

PIECE_CHARACTERS = 16 * 1024
"""Messages are sent in frames of at most this length, so that a close or ping never waits behind a large one."""
LOG_LENGTH = 64
MOST_PASSING = 256
MOST_WORDS = 64
"""Deltas of a model's answer are dropped first when a listener is slow: the whole turn follows."""


class Message:
    __slots__ = ("_frames", "data", "event")

    def __init__(self, event: str, data: str) -> None:
        self.event = event
        self.data = data
        self._frames: tuple[bytes, ...] | None = None

    def frames(self) -> tuple[bytes, ...]:
        if self._frames is None:
            self._frames = tuple(frames_of([f'{{"event":"{self.event}","data":{self.data}}}']))
        return self._frames


def frames_of(texts: Iterable[str]) -> Iterator[bytes]:
    """The frames of one message whose parts arrive one by one: a long transcript is never held in memory as a whole."""
    protocol = FrameProtocol(client=False, extensions=[])
    for piece, following in pairwise(_pieces_and_end(texts)):
        yield bytes(protocol.send_data(piece or "", fin=following is None))


def _pieces_and_end(texts: Iterable[str]) -> Iterator[str | None]:
    for text in texts:
        for start in range(0, len(text), PIECE_CHARACTERS):
            yield text[start : start + PIECE_CHARACTERS]
    yield None


class Item(Message):
    __slots__ = ("seq", "stored_at", "turn_id")

    def __init__(self, seq: int, turn_id: str, data: str, stored_at: str = "") -> None:
        """`data` is the JSON of {debate, argument}. `stored_at`, an ISO time, is known of turns read from Postgres."""
        super().__init__("new_argument", data)
        self.seq = seq
        self.turn_id = turn_id
        self.stored_at = stored_at


class Passing(Message):
    __slots__ = ("after_seq",)

    def __init__(self, event: str, data: str, after_seq: int) -> None:
        super().__init__(event, data)
        self.after_seq = after_seq


class Bell:
    """Wakes one listener. One per listener, so that a notification to one does not wake a thousand."""

    def __init__(self) -> None:
        self._rung = threading.Event()

    def ring(self) -> None:
        self._rung.set()

    def wait_for(self, condition: Callable[[], bool], timeout_seconds: float) -> bool:
        """False on timeout. Callers that make the condition true ring afterwards."""
        self._rung.clear()
        # Checked after clearing: an earlier change is seen here, a later one rings.
        return condition() or (self._rung.wait(timeout_seconds) and condition())


class Feed:
    def __init__(self, debate_id: UUID) -> None:
        self.debate_id = debate_id
        self.starting = threading.Lock()
        """Held by the one listener that reads the debate's position from Postgres."""
        self._lock = threading.Lock()
        self._log: deque[Item] = deque(maxlen=LOG_LENGTH)
        self.known = 0
        """The highest seq up to which the feed has no gap."""
        self.is_started = False
        self.early: tuple[int, StateMark | None] | None = None
        """Seq and state of the last event that came while the debate's position was being read: it may not be in it.
        The state is None for a deletion."""
        self.is_gone = False
        self._listeners: set[Listener] = set()
        self.state: StateMark | None = None
        """The state that was last sent, so that a comparison sends only what is new."""
        self.compared_at = ""
        """`updated_at` of the last change of state that a comparison has sent. An event of an earlier change is
        late."""
        self.created_at = ""
        """Identifies the debate together with its id: after a deletion another debate may get the same id."""

    @property
    def is_closed(self) -> bool:
        return self.state is not None and self.state.status in CLOSED_STATUSES

    @property
    def is_empty(self) -> bool:
        return not self._listeners

    def add(self, listener: "Listener") -> None:
        with self._lock:
            self._listeners.add(listener)

    def remove(self, listener: "Listener") -> None:
        with self._lock:
            self._listeners.discard(listener)

    def offer(self, items: Sequence[Item], state: StateMark | None) -> bool:
        """Adds turns from any source; False when there is a gap before one. `state` is the debate's after the last of
        them."""
        with self._lock:
            before = self.known
            for item in items:
                if item.seq == self.known + 1:
                    self._log.append(item)
                    self.known = item.seq
            is_whole = not items or items[-1].seq <= self.known
            if is_whole and items and items[-1].seq == self.known:
                self.state = state
            is_news = self.known != before
        if is_news:
            self._wake()
        return is_whole

    def start(self, seq: int, state: StateMark, created_at: str) -> None:
        """Starts the log after `seq`: listeners read earlier turns from Postgres."""
        with self._lock:
            if seq > self.known or not self.is_started:
                self.state = state
            self.created_at = created_at
            self.is_started = True
            is_news = seq > self.known
            if is_news:
                self._log.clear()
                self.known = seq
        if is_news:
            self._wake()

    def tell(self, event: str, data: str, state: StateMark | None) -> None:
        with self._lock:
            self.state = state
            for listener in self._listeners:
                listener.passing.append(Passing(event, data, self.known))
        self._wake()

    def say(self, event: str, data: str, state: StateMark | None = None) -> bool:
        """Sends what changes nothing, such as a delta; listeners that are behind miss it. False, and nothing sent, when
        it was true of another `state`: the feed's would hide a lost change."""
        with self._lock:
            if state is not None and state != self.state:
                return False
            for listener in self._listeners:
                if len(listener.passing) < MOST_WORDS:
                    listener.passing.append(Passing(event, data, self.known))
        self._wake()
        return True

    def end(self) -> None:
        with self._lock:
            self.is_gone = True
            for listener in self._listeners:
                listener.bell.ring()

    def after(self, seq: int) -> list[Item] | None:
        with self._lock:
            if seq >= self.known:
                return []
            if not self._log or self._log[0].seq > seq + 1:
                return None
            return [item for item in self._log if item.seq > seq]

    def following(self, seq: int) -> Item | None:
        with self._lock:
            behind = self.known - seq
            return self._log[-behind] if 0 < behind <= len(self._log) else None

    def _wake(self) -> None:
        """Called without the lock, because a woken listener may fetch from this feed immediately."""
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener.wake()


class Listener:
    def __init__(self, feed: Feed, seq: int) -> None:
        self.feed = feed
        self.seq = seq
        self.passing: deque[Passing] = deque(maxlen=MOST_PASSING)
        self.bell = Bell()
        self.hand_over: Callable[[], bool] | None = None
        """Sends new messages without blocking; false when it could not. Then the listener's own thread sends them."""
        self._is_left_over = False
        self._is_cancelled = False

    def wake(self) -> None:
        """There is something new. Sending a thousand messages from here is cheaper than waking a thousand threads."""
        if self.hand_over is None:
            self.bell.ring()
        elif not self.hand_over() or self.feed.known > self.seq:
            self._is_left_over = True
            self.bell.ring()

    def cancel(self) -> None:
        self._is_cancelled = True
        self.bell.ring()

    @property
    def is_over(self) -> bool:
        return self.feed.is_gone or self._is_cancelled

    def wait(self, timeout_seconds: float) -> bool:
        is_news = self.bell.wait_for(self._has_news, timeout_seconds)
        self._is_left_over = False
        return is_news

    def take_next(self) -> Message | None:
        if self.passing and self.passing[0].after_seq <= self.seq:
            return self.passing.popleft()
        if self.seq >= self.feed.known:
            return None
        item = self.feed.following(self.seq)
        if item is not None:
            self.seq = item.seq
        return item

    def _has_news(self) -> bool:
        return self.is_over or self._is_left_over or self.feed.known > self.seq or bool(self.passing)
