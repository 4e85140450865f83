"""The subscription to Redis says when it may have missed something, whatever ended its connection."""

import queue
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from byte_proxy import ByteProxy
from harness import Place, wait_until
from redis import Redis

from app.messaging import bus
from app.messaging.bus import Event, EventBus, Heard, Subscription

DEBATE = UUID(int=5)
SECONDS = 60
"""The longest that anything here may take on a busy machine."""
WORDS = Event(DEBATE, "argument_delta", {"text": "words"})


class Listening:
    """A subscription in a thread, and what it said in the order in which it said it."""

    def __init__(self, redis: "Redis") -> None:
        self.said: queue.Queue[Heard | None] = queue.Queue()
        self._subscription = Subscription(redis)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for message in self._subscription.messages(self._ending, lambda _: True):
            self.said.put(message)

    def next_is_a_word(self) -> bool:
        return self.said.get(timeout=SECONDS) is not None

    def end(self) -> None:
        self._ending.set()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


@pytest.fixture
def client(place: Place) -> "Redis":
    return Redis.from_url(str(place.settings.redis_url), socket_timeout=5)


@pytest.fixture
def listening(place: Place) -> Iterator[Listening]:
    made = Listening(Redis.from_url(str(place.settings.redis_url), socket_timeout=5))
    yield made
    made.end()


def test_a_connection_that_redis_closed_is_made_anew_and_both_are_said(client: "Redis", listening: Listening) -> None:
    assert not listening.next_is_a_word(), "the subscription is up"
    EventBus(client).publish([WORDS])
    assert listening.next_is_a_word()
    assert client.execute_command("CLIENT", "KILL", "TYPE", "pubsub") == 1
    assert not listening.next_is_a_word(), "it was lost"
    assert not listening.next_is_a_word(), "and is there again, as Redis has confirmed"
    EventBus(client).publish([WORDS])
    assert listening.next_is_a_word()


def test_a_quiet_connection_is_kept_and_one_that_died_without_a_word_is_given_up(
    place: Place, client: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus, "READ_SECONDS", 0.05)
    monkeypatch.setattr(bus, "SILENCE_SECONDS", 0.2)
    monkeypatch.setattr(bus, "LONGEST_SILENCE_SECONDS", 2)
    socket = re.match(r"unix://([^?]+)", str(place.settings.redis_url))
    assert socket is not None
    proxy = ByteProxy(Path(socket[1]))
    listening = Listening(Redis.from_url(f"redis://127.0.0.1:{proxy.port}/0", socket_timeout=5))
    try:
        assert not listening.next_is_a_word()
        # Silent, asked now and then, and it answers: nobody gives it up.
        enough = pings(client) + 15
        wait_until(lambda: pings(client) >= enough, SECONDS, "it was asked for longer than a silence may last")
        assert listening.said.empty()
        proxy.forget_connections()
        assert not listening.next_is_a_word(), "given up"
        assert not listening.next_is_a_word(), "and made anew"
    finally:
        listening.end()
        proxy.close()


def pings(client: "Redis") -> int:
    counted: int = client.info("commandstats").get("cmdstat_ping", {"calls": 0})["calls"]
    return counted
