"""A process hears the debates that somebody watches there and no others, and no turn falls between the subscription and
the read of Postgres. Comparisons with Postgres are off in most of these tests: they would hide what was missed."""

import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import pytest
from harness import OwnValkey, Place, services_of, wait_until
from redis import Redis
from relays import NEVER_SECONDS, a_dialogue, mute, redis_of, relaying, speak

from app.core.access import OPERATOR
from app.core.errors import DebateNotFound
from app.messaging import subscription
from app.messaging.bus import OPERATORS_CHANNEL, Event, EventBus, channel_of
from app.observe import metrics
from app.realtime.feed import Listener
from app.realtime.operators import Version
from app.realtime.relay import Relay
from app.realtime.source import PostgresSource
from app.usecases import announce, control
from app.usecases.services import Services

SECONDS = 600
SECONDS = 60
"""The longest that anything here may take on a busy machine."""


@pytest.fixture
def relay(place: Place, services: Services, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    monkeypatch.setattr("app.realtime.relay.COMPARE_SECONDS", NEVER_SECONDS)
    monkeypatch.setattr("app.realtime.relay.CONFIRM_SECONDS", SECONDS)
    with relaying(redis_of(place), PostgresSource(services)) as made:
        yield made


def subscribers(redis: "Redis", channel: str) -> int:
    [(_, count)] = redis.pubsub_numsub(channel)
    return int(count)


def messages_received() -> float:
    """By this process, whatever it made of them."""
    return metrics.REGISTRY.get_sample_value("debate_relay_messages_total") or 0


def words(debate_id: UUID, text: str) -> Event:
    return Event(debate_id, "argument_delta", lambda: {"text": text})


def words_heard(listener: Listener) -> list[str]:
    return [json.loads(told.data)["text"] for told in list(listener.passing) if told.event == "argument_delta"]


def seen_until(relay: Relay, listener: Listener, last: int) -> list[int]:
    """The turns that come, until `last` has."""
    seen: list[int] = []
    deadline = time.monotonic() + SECONDS
    while last not in seen and time.monotonic() < deadline:
        seen += [item.seq for item in relay.take(listener)]
        listener.passing.clear()
        if last not in seen:
            listener.wait(1)
    return seen


def test_events_of_debates_that_nobody_watches_are_not_received(place: Place, services: Services, relay: Relay) -> None:
    watched, others = a_dialogue(services), [a_dialogue(services) for _ in range(10)]
    bus = EventBus(redis_of(place))
    with relay.listen(watched, 1) as listener:
        before = messages_received()
        bus.publish([words(other, "unheard") for other in others for _ in range(10)])
        for other in others:
            speak(services, other, 2)
        speak(services, watched, 2)
        assert seen_until(relay, listener, 2) == [2]
        bus.publish([words(watched, "heard")])
        wait_until(lambda: words_heard(listener) == ["heard"], SECONDS, "the last of all has come")
        assert messages_received() - before == 2
        # Redis says how many it sent a message to.
        assert [redis_of(place).publish(channel_of(other), "words") for other in others] == 10 * [0]


def test_an_event_is_made_and_published_only_where_somebody_listens(own_redis: OwnValkey) -> None:
    redis, watched, other = Redis.from_url(own_redis.url), UUID(int=1), UUID(int=2)
    made: list[UUID] = []

    def event(debate_id: UUID) -> Event:
        def data() -> dict[str, Any]:
            made.append(debate_id)
            return {"debate": {"argument_count": 2}}

        return Event(debate_id, "state_changed", data)

    def published() -> int:
        """Messages since this was asked last."""
        count = redis.info("commandstats").get("cmdstat_publish", {"calls": 0})["calls"]
        redis.config_resetstat()
        return int(count)

    bus = EventBus(redis)
    bus.publish([event(watched), event(other)])
    assert (made, published()) == ([], 0)
    with redis.pubsub() as pubsub:
        pubsub.subscribe(channel_of(watched))
        wait_until(lambda: subscribers(redis, channel_of(watched)) == 1, SECONDS, "subscribed")
        bus.publish([event(watched), event(other)])
        assert (made, published()) == ([watched], 1)
        pubsub.subscribe(OPERATORS_CHANNEL)
        wait_until(lambda: subscribers(redis, OPERATORS_CHANNEL) == 1, SECONDS, "subscribed")
        bus.publish([event(other)])
        assert (made, published()) == ([watched, other], 1), "operators are shown every debate"


def test_a_channel_is_subscribed_from_the_first_listener_to_the_last(
    place: Place, services: Services, relay: Relay
) -> None:
    redis, channel = redis_of(place), channel_of(debate_id := a_dialogue(services))
    with relay.listen(debate_id):
        assert subscribers(redis, channel) == 1
        with relay.listen(debate_id):
            assert subscribers(redis, channel) == 1
        speak(services, debate_id, 2)
    wait_until(lambda: subscribers(redis, channel) == 0, SECONDS, "nobody listens any more")
    with relay.listen(debate_id, 2) as again:
        assert subscribers(redis, channel) == 1
        speak(services, debate_id, 3)
        assert seen_until(relay, again, 3) == [3]
    with pytest.raises(DebateNotFound), relay.listen(UUID(int=3)):
        pass
    wait_until(lambda: subscribers(redis, channel_of(UUID(int=3))) == 0, SECONDS, "nor to what is not there")


def test_who_polls_again_at_once_finds_the_channel_still_subscribed(
    place: Place, services: Services, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis, debate_id = redis_of(place), a_dialogue(services)
    with relay.listen(debate_id):
        pass
    wait_until(lambda: subscribers(redis, channel_of(debate_id)) == 0, SECONDS, "the first unsubscribe is due at once")
    monkeypatch.setattr(subscription, "UNSUBSCRIBE_SECONDS", NEVER_SECONDS)
    other = a_dialogue(services)
    with relay.listen(other):
        pass
    wait_until(lambda: subscribers(redis, channel_of(other)) == 0, SECONDS, "the next one is far away")
    before = redis.info("commandstats")["cmdstat_subscribe"]["calls"]
    for _ in range(20):
        with relay.listen(debate_id):
            EventBus(redis).publish([words(debate_id, "to keep the reader awake")])
    assert redis.info("commandstats")["cmdstat_subscribe"]["calls"] == before + 1


def test_the_position_is_read_when_redis_has_confirmed_the_subscription(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.realtime.relay.CONFIRM_SECONDS", SECONDS)
    redis, found = redis_of(place), []

    class Curious(PostgresSource):
        def last_changes(self, debate_ids: Sequence[UUID]) -> dict[UUID, Version]:
            found.extend(subscribers(redis, channel_of(debate_id)) for debate_id in debate_ids)
            return super().last_changes(debate_ids)

    with relaying(redis_of(place), Curious(services)) as relay:
        for _ in range(10):
            with relay.listen(a_dialogue(services)):
                pass
    assert found[:10] == 10 * [1]


def test_a_reader_that_hears_nothing_is_woken_for_a_new_listener(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "READ_SECONDS", 40)
    monkeypatch.setattr("app.realtime.relay.CONFIRM_SECONDS", 20)
    debate_ids = [a_dialogue(services) for _ in range(20)]
    with (
        relaying(redis_of(place), PostgresSource(services)) as relay,
        ThreadPoolExecutor(20) as threads,
        ExitStack() as listening,
    ):
        list(threads.map(lambda debate_id: listening.enter_context(relay.listen(debate_id)), debate_ids))
        assert [subscribers(redis_of(place), channel_of(debate_id)) for debate_id in debate_ids] == 20 * [1]


def test_a_turn_that_is_heard_while_the_position_is_read_is_not_lost(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is committed after the read and comes before the feed has started."""
    monkeypatch.setattr("app.realtime.relay.COMPARE_SECONDS", NEVER_SECONDS)
    monkeypatch.setattr("app.realtime.relay.CONFIRM_SECONDS", SECONDS)

    class Slow(PostgresSource):
        is_first = True

        def last_changes(self, debate_ids: Sequence[UUID]) -> dict[UUID, Version]:
            changes = super().last_changes(debate_ids)
            if self.is_first:
                self.is_first = False
                before = messages_received()
                speak(services, debate_id, 2)
                wait_until(lambda: messages_received() > before, SECONDS, "the turn's event is here")
                redis_of(place).publish(channel_of(debate_id), "words")
                wait_until(lambda: messages_received() > before + 1, SECONDS, "the reader is done with it")
            return changes

    debate_id = a_dialogue(services)
    with relaying(redis_of(place), Slow(services)) as relay, relay.listen(debate_id, 1) as listener:
        assert seen_until(relay, listener, 2) == [2]


def test_who_comes_in_the_same_instant_as_a_turn_gets_it_once(
    services: Services, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "UNSUBSCRIBE_SECONDS", 0)
    debate_id, chance = a_dialogue(services), random.Random(7)
    with ThreadPoolExecutor(1) as speaker:
        for seq in range(2, 62):
            together = threading.Barrier(2)

            def commit(seq: int = seq, together: threading.Barrier = together) -> None:
                together.wait()
                speak(services, debate_id, seq)

            committed = speaker.submit(commit)
            together.wait()
            time.sleep(chance.random() * 0.01)
            with relay.listen(debate_id, seq - 1) as listener:
                assert seen_until(relay, listener, seq) == [seq]
            committed.result()


@pytest.mark.long
def test_many_come_and_go_while_turns_are_committed_and_each_sees_every_turn_once(
    services: Services, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "UNSUBSCRIBE_SECONDS", 0.05)
    last, debate_ids = 40, [a_dialogue(services) for _ in range(6)]

    def commit(debate_id: UUID) -> None:
        for seq in range(2, last + 1):
            speak(services, debate_id, seq)
            time.sleep(0.01)

    def watch(number: int) -> list[int]:
        chance, seen = random.Random(number), [0]
        deadline = time.monotonic() + SECONDS
        while seen[-1] < last and time.monotonic() < deadline:
            with relay.listen(debate_ids[number % len(debate_ids)], seen[-1]) as listener:
                while seen[-1] < last and chance.random() > 0.4:
                    seen += [item.seq for item in relay.take(listener)]
                    listener.passing.clear()
                    if seen[-1] < last:
                        listener.wait(SECONDS)
            time.sleep(chance.random() * 0.1)
        return seen

    with ThreadPoolExecutor(24 + len(debate_ids)) as threads:
        watching = [threads.submit(watch, number) for number in range(24)]
        commits = [threads.submit(commit, debate_id) for debate_id in debate_ids]
        for one in commits:
            one.result()
        assert [one.result() for one in watching] == 24 * [list(range(last + 1))]


@pytest.fixture
def own_redis(stage: tuple[Place, OwnValkey]) -> OwnValkey:
    return stage[1]


@pytest.fixture
def own_services(stage: tuple[Place, OwnValkey]) -> Iterator[Services]:
    with services_of(stage[0].settings, 5) as made:
        yield made


def test_redis_is_killed_and_back_and_every_channel_is_subscribed_anew(
    own_redis: OwnValkey, own_services: Services
) -> None:
    client = Redis.from_url(own_redis.url, socket_timeout=5)
    debate_ids = [a_dialogue(own_services) for _ in range(5)]
    with (
        relaying(Redis.from_url(own_redis.url, socket_timeout=5), PostgresSource(own_services)) as relay,
        relay.listen(debate_ids[0], 1) as first,
        relay.listen(debate_ids[1], 1) as second,
        relay.listen_to_all(),
    ):
        with relay.listen(debate_ids[2]):
            own_redis.stop()
            wait_until(lambda: not relay.hears, SECONDS, "Redis is away")
            speak(own_services, debate_ids[0], 2)
            assert seen_until(relay, first, 2) == [2]
        with relay.listen(debate_ids[3], 1) as third:
            own_redis.start()
            wait_until(lambda: relay.hears, SECONDS, "Redis is back")
            watched = [channel_of(debate_id) for debate_id in (debate_ids[0], debate_ids[1], debate_ids[3])]
            assert [subscribers(client, channel) for channel in (*watched, OPERATORS_CHANNEL)] == [1, 1, 1, 1]
            unwatched = [channel_of(debate_id) for debate_id in (debate_ids[2], debate_ids[4])]
            assert [subscribers(client, channel) for channel in unwatched] == [0, 0]
            speak(own_services, debate_ids[0], 3)
            assert seen_until(relay, first, 3) == [3]
            # A model's words come over Redis or not at all.
            for debate_id, listener in zip(debate_ids[:2] + debate_ids[3:4], (first, second, third), strict=True):
                EventBus(client).publish([words(debate_id, "back")])
                wait_until(lambda: words_heard(listener) == ["back"], SECONDS, "it is heard")  # noqa: B023


def test_nobody_waits_for_a_redis_that_hangs_and_a_late_confirmation_is_followed_by_a_comparison(
    own_redis: OwnValkey, own_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.realtime.relay.COMPARE_SECONDS", NEVER_SECONDS)
    monkeypatch.setattr("app.realtime.relay.CONFIRM_SECONDS", 0.2)
    monkeypatch.setattr(subscription, "LONGEST_SILENCE_SECONDS", NEVER_SECONDS)
    debate_id = a_dialogue(own_services)
    with relaying(Redis.from_url(own_redis.url, socket_timeout=1), PostgresSource(own_services)) as relay:
        own_redis.freeze()
        try:
            with relay.listen(debate_id) as listener:
                assert seen_until(relay, listener, 1) == [1]
                speak(mute(own_services, Redis.from_url(own_redis.url)), debate_id, 2)
                own_redis.thaw()
                assert seen_until(relay, listener, 2) == [2]
                assert relay.hears
        finally:
            own_redis.thaw()


def told_to_operators(redis: "Redis", events: list[Event]) -> list[dict[str, Any]]:
    with redis.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.subscribe(OPERATORS_CHANNEL)
        wait_until(lambda: subscribers(redis, OPERATORS_CHANNEL) == 1, SECONDS, "subscribed")
        EventBus(redis).publish(events)
        EventBus(redis).publish([announce.deleted(UUID(int=9))])
        told: list[dict[str, Any]] = []
        while not told or told[-1] != {"event": "debate_deleted", "data": {"debate_id": str(UUID(int=9))}}:
            message = pubsub.get_message(timeout=SECONDS)
            told += [json.loads(line) for line in message["data"].splitlines()] if message else []
        return told[:-1]


def test_operators_are_told_the_latest_version_of_each_debate_and_no_words(own_redis: OwnValkey) -> None:
    client, first, second = Redis.from_url(own_redis.url), UUID(int=1), UUID(int=2)
    told = told_to_operators(
        client,
        [
            words(first, "Deliveries"),
            Event(first, "new_argument", lambda: {"debate": {"argument_count": 2}, "argument": {"content": "words"}}),
            Event(first, "seat.waiting", lambda: {"debate": {"argument_count": 2}, "role": "opponent"}),
            Event(second, "state_changed", lambda: {"debate": {"argument_count": 5}}),
            announce.deleted(second),
            Event(UUID(int=3), "experiment_changed", lambda: {"experiment": {"id": str(UUID(int=3))}}),
        ],
    )
    assert told == [
        {"event": "debate_changed", "data": {"debate": {"argument_count": 2}}},
        {"event": "debate_deleted", "data": {"debate_id": str(second)}},
        {"event": "experiment_changed", "data": {"experiment": {"id": str(UUID(int=3))}}},
    ]


def test_the_operators_channel_is_subscribed_while_an_operator_listens(
    own_redis: OwnValkey, own_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.realtime.relay.COMPARE_SECONDS", NEVER_SECONDS)
    monkeypatch.setattr("app.realtime.relay.CONFIRM_SECONDS", SECONDS)
    client = Redis.from_url(own_redis.url, socket_timeout=5)
    experiment = Event(UUID(int=3), "experiment_changed", lambda: {"experiment": {"id": str(UUID(int=3))}})
    with relaying(Redis.from_url(own_redis.url, socket_timeout=5), PostgresSource(own_services)) as relay:
        debate_id = a_dialogue(own_services)
        assert subscribers(client, OPERATORS_CHANNEL) == 0
        with relay.listen_to_all() as operators, relay.listen_to_all():
            assert subscribers(client, OPERATORS_CHANNEL) == 1
            told: dict[str, dict[str, Any]] = {}

            def latest(event: str) -> dict[str, Any] | None:
                told.update({message.event: json.loads(message.data) for message in operators.take()})
                return told.get(event)

            own_services.publisher.publish(words(debate_id, "unheard"))
            speak(own_services, debate_id, 2)
            wait_until(
                lambda: (latest("debate_changed") or {}).get("debate", {}).get("argument_count") == 2,
                SECONDS,
                "the turn was told",
            )
            assert set(told["debate_changed"]) == {"debate"}
            own_services.publisher.publish(experiment)
            wait_until(lambda: latest("experiment_changed") == experiment.data(), SECONDS, "the experiment was told")
            control.delete_debate(own_services, OPERATOR, debate_id)
            deleted = {"debate_id": str(debate_id)}
            wait_until(lambda: latest("debate_deleted") == deleted, SECONDS, "the deletion was told")
            assert set(told) == {"debate_changed", "experiment_changed", "debate_deleted"}
        wait_until(lambda: subscribers(client, OPERATORS_CHANNEL) == 0, SECONDS, "no operator listens")
