"""One debate as its listeners see it: the last turns in order, and a bell that rings when there is more.

Every listener pulls from its own position, and a position only ever moves to the next seq. So nobody can see a turn
twice, out of order, or past a hole, whatever is lost, doubled or late on the way here. What a listener has not fetched
yet is not kept for it: it lies in the log of the last turns, or else in Postgres.
"""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.debate import CLOSED_STATUSES

LOG_LENGTH = 64
"""Turns kept for listeners that are up to date. Whoever is further behind reads Postgres."""
MOST_PASSING = 256
"""Passing events (a model's words, changes of state) kept for one listener; the oldest are dropped first."""


@dataclass(frozen=True, slots=True)
class Item:
    """A turn as it is sent: text that every listener shares."""

    seq: int
    turn_id: str
    data: str
    """The JSON of {debate, argument}."""


@dataclass(frozen=True, slots=True)
class Passing:
    """Something that is told once, in no order, and not again: state_changed, argument_delta."""

    event: str
    data: str


class Feed:
    def __init__(self, debate_id: UUID) -> None:
        self.debate_id = debate_id
        self._changed = threading.Condition()
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

    def add(self, listener: "Listener") -> None:
        with self._changed:
            self._listeners.add(listener)

    def remove(self, listener: "Listener") -> None:
        with self._changed:
            self._listeners.discard(listener)

    def offer(self, items: Sequence[Item], state: str) -> bool:
        """Takes in turns that came from anywhere, in any order; false when there is a hole before one of them.

        `state` is the debate's after the last of them, and is believed only once all turns before it are here.
        """
        with self._changed:
            before = self._known
            for item in items:
                if item.seq == self._known + 1:
                    self._log.append(item)
                    self._known = item.seq
            is_whole = not items or items[-1].seq <= self._known
            if is_whole and items and items[-1].seq == self._known:
                self._state = state
            if self._known != before:
                self._changed.notify_all()
        return is_whole

    def start(self, seq: int, state: str) -> None:
        """Everything up to `seq` is in Postgres for whoever needs it; the log goes on after it."""
        with self._changed:
            self._started = True
            self._state = state
            if seq > self._known:
                self._log.clear()
                self._known = seq
                self._changed.notify_all()

    def tell(self, passing: Passing, state: str) -> None:
        with self._changed:
            self._state = state
            for listener in self._listeners:
                listener.passing.append(passing)
            self._changed.notify_all()

    def end(self) -> None:
        """The debate was deleted, or the server goes away."""
        with self._changed:
            self._gone = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Every listener looks whether something has changed for it."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, listener: "Listener", timeout_seconds: float) -> bool:
        """Until there is something for this listener, or the feed ends; false when the time is up."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._gone or listener.is_cut_off or self._known > listener.seq or bool(listener.passing),
                timeout_seconds,
            )

    def after(self, seq: int) -> list[Item] | None:
        """The turns after `seq` that are in the log; None when they are further back."""
        with self._changed:
            if seq >= self._known:
                return []
            if not self._log or self._log[0].seq > seq + 1:
                return None
            return [item for item in self._log if item.seq > seq]

    @property
    def is_gone(self) -> bool:
        return self._gone


class Listener:
    """Somebody's position in one feed."""

    def __init__(self, feed: Feed, seq: int) -> None:
        self.feed = feed
        self.seq = seq
        """The last turn that was given out."""
        self.passing: deque[Passing] = deque(maxlen=MOST_PASSING)
        self.is_cut_off = False
        """It may listen no longer: its key was revoked."""

    def cut_off(self) -> None:
        self.is_cut_off = True
        self.feed.wake()
