"""The channels that this process wants, over one Redis connection that reconnects when it is lost.

redis-py's PubSub must not be used by two threads: the reading thread also sends its commands, and others wake it.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import structlog
from redis import Redis
from redis.backoff import NoBackoff
from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.retry import Retry

from app.messaging.incoming import Heard, read_events
from app.observe import metrics

log = structlog.get_logger(__name__)

READ_SECONDS = 1.0
SILENCE_SECONDS = 5
LONGEST_SILENCE_SECONDS = 12
"""After this silence the connection is considered dead: longer than the wait before a ping plus the time to answer."""
UNSUBSCRIBE_SECONDS = 2.0
"""How often unsubscribes are sent, as a batch: a client that polls again immediately finds its channel subscribed."""
_OWN_CHANNEL_PREFIX = "debate:relay:"
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0


class _Channel:
    __slots__ = ("confirmed", "is_late", "is_subscribed", "is_wanted", "unanswered")

    def __init__(self) -> None:
        self.is_wanted = True
        self.is_subscribed = False
        """By the last command that was sent for it over the present connection."""
        self.unanswered = 0
        """Commands that Redis has not confirmed yet. One may follow another before that."""
        self.confirmed = threading.Event()
        """Everything published from now on arrives here."""
        self.is_late = False
        """A caller continued without the confirmation: events may be missed before it comes."""

    def change(self) -> None:
        self.is_subscribed = not self.is_subscribed
        self.unanswered += 1
        self.confirmed.clear()

    def disconnect(self) -> None:
        self.is_subscribed = False
        self.unanswered = 0
        self.confirmed.clear()


class Subscription:
    def __init__(self, redis: "Redis") -> None:
        self._redis = redis
        # A lost connection must raise here. If redis-py reconnected, events would be missed unnoticed.
        redis.set_retry(Retry(NoBackoff(), 0))
        self.is_up = False
        self._own_channel = f"{_OWN_CHANNEL_PREFIX}{uuid4()}"
        self._lock = threading.Lock()
        self._channels: dict[str, _Channel] = {}
        self._added: set[str] = set()
        """Wanted, but the reader has not sent it yet."""
        self._removed: set[str] = set()
        """No longer wanted, and possibly wanted again since."""
        self._next_unsubscribe_at = 0.0
        self._is_woken = False
        """The reader was woken and will look into `_added`."""

    def add(self, name: str) -> None:
        with self._lock:
            channel = self._channels.setdefault(name, _Channel())
            channel.is_wanted = True
            if not channel.is_subscribed:
                self._added.add(name)

    def remove(self, name: str) -> None:
        with self._lock:
            self._channels[name].is_wanted = False
            self._removed.add(name)

    def wait_until_confirmed(self, name: str, timeout_seconds: float) -> bool:
        """Whether all later messages of a wanted channel will be received. After False, `messages` yields None once
        they are."""
        with self._lock:
            channel = self._channels[name]
            must_wake = self.is_up and name in self._added and not self._is_woken
            self._is_woken = self._is_woken or must_wake
        if must_wake:
            # Without this, the reader would look within READ_SECONDS.
            with suppress(RedisError):
                self._redis.publish(self._own_channel, b"")
        if self.is_up and channel.confirmed.wait(timeout_seconds):
            return True
        with self._lock:
            channel.is_late = not channel.confirmed.is_set()
            return not channel.is_late

    def is_confirmed(self, name: str) -> bool:
        channel = self._channels.get(name)
        return channel is not None and channel.confirmed.is_set()

    def messages(self, ending: threading.Event) -> Iterator[Heard | None]:
        """Yields each event on a wanted channel, and None whenever events may have been missed."""
        pause = _FIRST_PAUSE_SECONDS
        while not ending.is_set():
            try:
                for message in self._received(ending):
                    if message["type"] == "message":
                        yield from self._heard(message["channel"].decode(), message["data"])
                    elif message["type"] in ("subscribe", "unsubscribe") and self._confirm(message["channel"].decode()):
                        pause = _FIRST_PAUSE_SECONDS
                        yield None
            except RedisError as problem:
                if self.is_up:
                    log.warning("bus.unavailable", problem=str(problem))
            self._disconnect()
            yield None
            ending.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _received(self, ending: threading.Event) -> Iterator[dict[str, Any]]:
        self._disconnect()
        with self._redis.pubsub() as pubsub:  # type: ignore[no-untyped-call]
            self._send_changes(pubsub)
            # Confirmed in order: once this one is, the others are. It also keeps the connection in subscribed state.
            pubsub.subscribe(self._own_channel)
            heard_at = time.monotonic()
            asked_at = heard_at
            while not ending.is_set():
                self._send_changes(pubsub)
                message = pubsub.get_message(timeout=READ_SECONDS)
                now = time.monotonic()
                if message is not None:
                    heard_at = now
                    yield message
                elif now - heard_at > LONGEST_SILENCE_SECONDS:
                    raise RedisConnectionError(f"Redis has not answered for {LONGEST_SILENCE_SECONDS} seconds")
                elif now - max(heard_at, asked_at) > SILENCE_SECONDS:
                    # The answer arrives as a message of type pong.
                    asked_at = now
                    pubsub.ping()

    def _heard(self, name: str, message: bytes) -> list[Heard]:
        if name == self._own_channel:
            return []
        metrics.relay_messages.inc()
        channel = self._channels.get(name)
        return read_events(name, message) if channel and channel.is_wanted else []

    def _disconnect(self) -> None:
        with self._lock:
            self.is_up = False
            self._is_woken = False
            self._channels = {name: channel for name, channel in self._channels.items() if channel.is_wanted}
            for channel in self._channels.values():
                channel.disconnect()
            self._added = set(self._channels)
            self._removed = set()

    def _send_changes(self, pubsub: PubSub) -> None:
        now = time.monotonic()
        is_time_to_remove = bool(self._removed) and now >= self._next_unsubscribe_at
        if not self._added and not is_time_to_remove:
            return
        with self._lock:
            names, self._added = self._added, set()
            self._is_woken = False
            if is_time_to_remove:
                names |= self._removed
                self._removed = set()
                self._next_unsubscribe_at = now + UNSUBSCRIBE_SECONDS
            found = {name: self._channels[name] for name in names if name in self._channels}
            new = [name for name, channel in found.items() if channel.is_wanted and not channel.is_subscribed]
            old = [name for name, channel in found.items() if not channel.is_wanted and channel.is_subscribed]
            for name in (*new, *old):
                found[name].change()
            for name in found:
                self._forget_unused(name)
        if new:
            pubsub.subscribe(*new)
        if old:
            pubsub.unsubscribe(*old)  # type: ignore[no-untyped-call]

    def _confirm(self, name: str) -> bool:
        with self._lock:
            if name == self._own_channel:
                self.is_up = True
                return True
            channel = self._channels[name]
            channel.unanswered -= 1
            self._forget_unused(name)
            if channel.unanswered or not channel.is_subscribed:
                return False
            channel.confirmed.set()
            is_late, channel.is_late = channel.is_late, False
            return is_late and self.is_up

    def _forget_unused(self, name: str) -> None:
        channel = self._channels[name]
        if not (channel.is_wanted or channel.is_subscribed or channel.unanswered):
            del self._channels[name]
