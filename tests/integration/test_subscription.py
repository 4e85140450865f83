"""The subscription to Redis says when it may have missed something, whatever ended its connection."""

import json
import queue
import random
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from byte_proxy import ByteProxy
from harness import Place, wait_until
from redis import Redis

from app.messaging import subscription
from app.messaging.bus import Event, EventBus, channel_of
from app.messaging.incoming import Heard
from app.messaging.subscription import Subscription

DEBATE = UUID(int=5)
SECONDS = 60
"""The longest that anything here may take on a busy machine."""
WORDS = Event(DEBATE, "argument_delta", lambda: {"text": "words"})


class Listening:
    """A subscription in a thread, and what it said in the order in which it said it."""

    def __init__(self, redis: "Redis") -> None:
        self.said: queue.Queue[Heard | None] = queue.Queue()
        self.subscription = Subscription(redis)
        self.subscription.add(channel_of(DEBATE))
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for message in self.subscription.messages(self._ending):
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
    # Of this database alone: the server is shared, and a listener of another test may not have hung up yet.
    database = client.connection_pool.connection_kwargs["db"]
    for found in client.client_list("pubsub"):
        if int(found["db"]) == database:
            client.client_kill_filter(_id=found["id"])
    assert not listening.next_is_a_word(), "it was lost"
    assert not listening.next_is_a_word(), "and is there again, as Redis has confirmed"
    EventBus(client).publish([WORDS])
    assert listening.next_is_a_word()


def test_a_quiet_connection_is_kept_and_one_that_died_without_a_word_is_given_up(
    place: Place, client: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "READ_SECONDS", 0.05)
    monkeypatch.setattr(subscription, "SILENCE_SECONDS", 0.2)
    monkeypatch.setattr(subscription, "LONGEST_SILENCE_SECONDS", 2)
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


def test_what_is_published_after_a_confirmation_is_heard_however_channels_come_and_go(
    client: "Redis", listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands for a channel overtake the answers to earlier ones: none of those may count as the confirmation."""
    monkeypatch.setattr(subscription, "UNSUBSCRIBE_SECONDS", 0)
    assert not listening.next_is_a_word(), "the subscription is up"
    wanted, bus = listening.subscription, EventBus(client)

    def come_and_go(number: int) -> list[str]:
        debate_id, chance, published = UUID(int=100 + number), random.Random(number), []
        for turn in range(150):
            wanted.add(channel_of(debate_id))
            if chance.random() < 0.5:
                assert wanted.wait_until_confirmed(channel_of(debate_id), SECONDS)
                published.append(f"{number}/{turn}")
                bus.publish([Event(debate_id, "argument_delta", lambda: {"text": published[-1]})])
                # Until it was heard: who leaves does not care what still comes.
                wait_until(lambda: published[-1] in heard, SECONDS, f"{published[-1]} is heard")
            wanted.remove(channel_of(debate_id))
        return published

    heard: set[str] = set()

    def collect() -> None:
        while (word := listening.said.get()) is not None:
            heard.add(json.loads(word.data)["text"])

    collector = threading.Thread(target=collect, daemon=True)
    collector.start()
    with ThreadPoolExecutor(6) as threads:
        published = [text for texts in threads.map(come_and_go, range(6)) for text in texts]
    assert heard == set(published)
    channels = [channel_of(UUID(int=100 + number)) for number in range(6)]
    wait_until(lambda: {count for _, count in client.pubsub_numsub(*channels)} == {0}, SECONDS, "nobody is left")


def test_an_answer_to_an_earlier_command_is_no_confirmation(
    client: "Redis", place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Driven step by step: each step sends what is wanted, and reads until the next event."""
    monkeypatch.setattr(subscription, "UNSUBSCRIBE_SECONDS", 0)
    channel, bus, ending = channel_of(UUID(int=6)), EventBus(client), threading.Event()
    wanted = Subscription(Redis.from_url(str(place.settings.redis_url), socket_timeout=5))
    wanted.add(channel_of(DEBATE))
    steps = wanted.messages(ending)
    assert next(steps) is None, "the subscription is up"
    # These are read while three commands are on their way.
    bus.publish([WORDS, WORDS, WORDS])
    for change, subscribers in ((wanted.add, 1), (wanted.remove, 0), (wanted.add, 1)):
        change(channel)
        assert next(steps) is not None
        wait_until(lambda: client.pubsub_numsub(channel)[0][1] == subscribers, SECONDS, "Redis has done it")  # noqa: B023
        # It is behind the answer to this command.
        bus.publish([WORDS])
    confirmed = []
    for _ in range(3):
        assert next(steps) is not None
        confirmed.append(wanted.is_confirmed(channel))
    assert confirmed == [False, False, True]
    ending.set()
    assert next(steps, None) is None
