"""One debate as its listeners see it: the last turns in order, and a bell for each listener that rings when there is
more.

Every listener pulls from its own position, and a position only ever moves to the next seq. So nobody can see a turn
twice, out of order, or past a hole, whatever is lost, doubled or late on the way here. What a listener has not fetched
yet is not kept for it: it lies in the log of the last turns, or else in Postgres.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from uuid import UUID

from app.core.debate import CLOSED_STATUSES
from app.realtime.messages import Message

LOG_LENGTH = 64
"""Turns kept for listeners that are up to date. Whoever is further behind reads Postgres."""
MOST_PASSING = 256
"""Passing events kept for one listener; the oldest are dropped first."""
MOST_WORDS = 64
"""A model's words are the first to go when a listener is slow: they come again, whole, as a turn."""


class Item(Message):
    """A turn as it is sent. All listeners share it."""

    __slots__ = ("seq", "turn_id")

    def __init__(self, seq: int, turn_id: str, data: str) -> None:
        """`data` is the JSON of {debate, argument}."""
        super().__init__("new_argument", data)
        self.seq = seq
        self.turn_id = turn_id


class Passing(Message):
    """Something that is told once and not again: state_changed, argument_delta."""

    __slots__ = ("after_seq",)

    def __init__(self, event: str, data: str, after_seq: int) -> None:
        """Belongs after the turn `after_seq` and before the next."""
        super().__init__(event, data)
        self.after_seq = after_seq


class Bell:
    """Wakes one listener. Its own, so that a word to one does not wake a thousand."""

    def __init__(self) -> None:
        self._rung = threading.Event()

    def ring(self) -> None:
        self._rung.set()

    def wait_for(self, condition: Callable[[], bool], timeout_seconds: float) -> bool:
        """False when the time is up. Whoever makes the condition true rings afterwards."""
        self._rung.clear()
        # After the bell was silenced: what came before this look is seen, what comes after it rings.
        return condition() or (self._rung.wait(timeout_seconds) and condition())


class Feed:
    def __init__(self, debate_id: UUID) -> None:
        self.debate_id = debate_id
        self.starting = threading.Lock()
        """Held by the one listener that looks where the debate is."""
        self._lock = threading.Lock()
        self._log: deque[Item] = deque(maxlen=LOG_LENGTH)
        self._known = 0
        self._started = False
        self._gone = False
        self._listeners: set[Listener] = set()
        self._state = ""

    @property
    def known(self) -> int:
        """The highest seq up to which no turn is missing here."""
        return self._known

    @property
    def state(self) -> str:
        """What listeners were last told, so that a comparison tells only what nobody told (see `bus.state_mark`)."""
        return self._state

    @property
    def is_closed(self) -> bool:
        return self._state.partition("/")[0] in CLOSED_STATUSES

    @property
    def is_started(self) -> bool:
        return self._started

    @property
    def is_empty(self) -> bool:
        return not self._listeners

    @property
    def is_gone(self) -> bool:
        return self._gone

    def add(self, listener: "Listener") -> None:
        with self._lock:
            self._listeners.add(listener)

    def remove(self, listener: "Listener") -> None:
        with self._lock:
            self._listeners.discard(listener)

    def offer(self, items: Sequence[Item], state: str) -> bool:
        """Takes in turns that came from anywhere, in any order; false when there is a hole before one of them.

        `state` is the debate's after the last of them, and is believed only once all turns before it are here.
        """
        with self._lock:
            before = self._known
            for item in items:
                if item.seq == self._known + 1:
                    self._log.append(item)
                    self._known = item.seq
            is_whole = not items or items[-1].seq <= self._known
            if is_whole and items and items[-1].seq == self._known:
                self._state = state
            is_news = self._known != before
        if is_news:
            self._wake()
        return is_whole

    def start(self, seq: int, state: str) -> None:
        """Everything up to `seq` is in Postgres for whoever needs it; the log goes on after it."""
        with self._lock:
            if seq > self._known or not self._started:
                self._state = state
            self._started = True
            is_news = seq > self._known
            if is_news:
                self._log.clear()
                self._known = seq
        if is_news:
            self._wake()

    def tell(self, event: str, data: str, state: str) -> None:
        """A change of state, which comes after all turns that are known here."""
        with self._lock:
            self._state = state
            for listener in self._listeners:
                listener.passing.append(Passing(event, data, self._known))
        self._wake()

    def say(self, event: str, data: str) -> None:
        """A model's words. Nobody misses them: a listener that is behind does without."""
        with self._lock:
            for listener in self._listeners:
                if len(listener.passing) < MOST_WORDS:
                    listener.passing.append(Passing(event, data, self._known))
        self._wake()

    def end(self) -> None:
        """The debate was deleted, or the server goes away."""
        with self._lock:
            self._gone = True
            for listener in self._listeners:
                listener.bell.ring()

    def after(self, seq: int) -> list[Item] | None:
        """The turns after `seq` that are in the log; None when they are further back."""
        with self._lock:
            if seq >= self._known:
                return []
            if not self._log or self._log[0].seq > seq + 1:
                return None
            return [item for item in self._log if item.seq > seq]

    def following(self, seq: int) -> Item | None:
        """The turn after `seq`, if it is in the log."""
        with self._lock:
            behind = self._known - seq
            return self._log[-behind] if 0 < behind <= len(self._log) else None

    def _wake(self) -> None:
        """Without the lock: a listener may fetch what is new at once."""
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener.wake()


class Listener:
    """Somebody's position in one feed."""

    def __init__(self, feed: Feed, seq: int) -> None:
        self.feed = feed
        self.seq = seq
        """The last turn that was given out."""
        self.passing: deque[Passing] = deque(maxlen=MOST_PASSING)
        self.bell = Bell()
        self.hand_over: Callable[[], bool] | None = None
        """Gives out what is new without waiting; false when it could not. Then the listener does it, which may wait."""
        self._is_left_over = False
        self._is_cancelled = False

    def wake(self) -> None:
        """There is something new. To wake a thousand listeners costs more than to hand a thousand messages over."""
        if self.hand_over is None:
            self.bell.ring()
        elif not self.hand_over() or self.feed.known > self.seq:
            self._is_left_over = True
            self.bell.ring()

    def cancel(self) -> None:
        """Whoever this listener serves is gone: it need not wait any longer."""
        self._is_cancelled = True
        self.bell.ring()

    @property
    def is_over(self) -> bool:
        return self.feed.is_gone or self._is_cancelled

    def wait(self, timeout_seconds: float) -> bool:
        """Until there is something for this listener, or nothing more can come; false when the time is up."""
        is_news = self.bell.wait_for(self._has_news, timeout_seconds)
        self._is_left_over = False
        return is_news

    def take_next(self) -> Message | None:
        """The next turn or passing event, each passing one after the turn that it followed; None when there is none at
        hand."""
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
