"""The operators' feed: the latest change of each debate.

A listener with too many pending debates is disconnected; it reads the list again and reconnects.
"""

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from cachetools import FIFOCache

from app.messaging.incoming import StateMark
from app.realtime.feed import Bell, Message

MOST_WAITING = 5_000
LOOK_BACK = timedelta(seconds=10)
"""A change becomes visible when it commits but carries the time of its statement. No transaction takes longer."""


@dataclass(frozen=True, slots=True, order=True)
class Version:
    updated_at: str
    seq: int
    state: StateMark
    created_at: str
    """An id may be reused after a deletion: this distinguishes the two debates."""


class OperatorsListener:
    def __init__(self) -> None:
        self.bell = Bell()
        self.is_over = False
        self.is_too_slow = False
        self._lock = threading.Lock()
        self._waiting: dict[UUID, Message] = {}

    def put(self, debate_id: UUID, message: Message) -> None:
        with self._lock:
            self._waiting[debate_id] = message
            if len(self._waiting) > MOST_WAITING:
                self.is_too_slow = True
                self._waiting.clear()
        self.bell.ring()

    def take(self) -> list[Message]:
        with self._lock:
            messages = list(self._waiting.values())
            self._waiting.clear()
        return messages

    def cancel(self) -> None:
        self.is_over = True
        self.bell.ring()

    def wait(self, timeout_seconds: float) -> bool:
        return self.bell.wait_for(lambda: self.is_over or self.is_too_slow or bool(self._waiting), timeout_seconds)


class OperatorsFeed:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: set[OperatorsListener] = set()
        self._told: FIFOCache[UUID, Version] = FIFOCache(MOST_WAITING)
        """The last change sent for each recent debate, so that a comparison sends only what is new."""
        self.compared_until: datetime | None = None
        """Changes in Postgres up to this time were compared; None without a listener."""

    @property
    def is_empty(self) -> bool:
        return not self._listeners

    def add(self, listener: OperatorsListener) -> None:
        with self._lock:
            self._listeners.add(listener)

    def remove(self, listener: OperatorsListener) -> None:
        with self._lock:
            self._listeners.discard(listener)
            if not self._listeners:
                self._told.clear()
                self.compared_until = None

    def is_news(self, debate_id: UUID, change: Version) -> bool:
        told = self._told.get(debate_id)
        return told is None or (change.updated_at >= told.updated_at and change != told)

    def tell(self, debate_id: UUID, change: Version, debate_data: str) -> None:
        with self._lock:
            if not self.is_news(debate_id, change):
                return
            self._told[debate_id] = change
        self._put(debate_id, Message("debate_changed", debate_data))

    def pass_on(self, about: UUID, event: str, data: str) -> None:
        self._put(about, Message(event, data))

    def end(self) -> None:
        for listener in list(self._listeners):
            listener.cancel()

    def _put(self, debate_id: UUID, message: Message) -> None:
        for listener in list(self._listeners):
            listener.put(debate_id, message)
