"""The worker takes several messages in one trip, notes each as under way, and takes none that it has no room for."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from harness import Place, wait_until
from kombu import Connection, Consumer, Queue, transport

from app.queue import ADVANCE_DEBATE, DEBATES_QUEUE, make_celery
from app.refused import RefusedTasks
from worker.refusing import CarefulTransport, Refuser
from worker.taking import MOST_ALONG

UNACKED, UNACKED_INDEX = "unacked", "unacked_index"


@pytest.fixture
def connection(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setitem(transport._transport_cache, "redis", CarefulTransport)
    with make_celery(str(place.settings.redis_url)).connection_for_read() as made:
        yield made


@pytest.fixture
def consumer(connection: Connection) -> Iterator[Consumer]:
    """Takes at most 20 at a time; what it took is in its `taken`."""
    with Consumer(connection, [Queue(DEBATES_QUEUE)], accept=["json"], prefetch_count=20) as made:
        made.taken = []
        made.callbacks = [lambda _, message: made.taken.append(message)]
        yield made


def send(place: Place, count: int) -> list[str]:
    ids = [str(uuid4()) for _ in range(count)]
    celery = make_celery(str(place.settings.redis_url))
    for debate_id in ids:
        celery.send_task(ADVANCE_DEBATE, args=[debate_id])
    return ids


def under_way(place: Place) -> tuple[int, int, int]:
    """Messages that wait, that are noted as under way, and that are in the index by time."""
    redis: Any = place.redis()
    return redis.llen(DEBATES_QUEUE), redis.hlen(UNACKED), redis.zcard(UNACKED_INDEX)


def test_messages_come_several_at_a_time_in_order_and_no_more_than_there_is_room_for(
    place: Place, connection: Connection, consumer: Consumer
) -> None:
    ids = send(place, 30)
    connection.drain_events(timeout=5)
    first = 1 + MOST_ALONG
    assert under_way(place) == (30 - first, first, first)
    connection.drain_events(timeout=5)
    assert under_way(place) == (10, 20, 20)
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.2)
    assert [message.payload[0][0] for message in consumer.taken] == ids[:20]
    for message in consumer.taken:
        message.ack()
    assert under_way(place) == (10, 0, 0)
    connection.drain_events(timeout=5)
    assert [message.payload[0][0] for message in consumer.taken] == ids


def test_what_was_taken_and_not_done_goes_back_to_the_queue(
    place: Place, connection: Connection, consumer: Consumer
) -> None:
    send(place, 12)
    connection.drain_events(timeout=5)
    for message in consumer.taken[:5]:
        message.ack()
    assert under_way(place) == (0, 7, 7)
    # As another worker does with what a dead one had: here for all that were taken more than no time ago.
    consumer.channel.qos.restore_visible(num=100)
    assert under_way(place) == (0, 7, 7), "none has been under way for long"
    consumer.channel.visibility_timeout = consumer.channel.qos.visibility_timeout = 0
    consumer.channel.qos.restore_visible(num=100, interval=1)
    assert under_way(place) == (7, 0, 0)


def test_what_comes_while_the_worker_ends_stays_in_the_queue(
    place: Place, connection: Connection, consumer: Consumer
) -> None:
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.2)
    # It waits for a message, and gets one when it no longer wants any.
    consumer.cancel()
    send(place, 3)
    wait_until(lambda: under_way(place)[0] == 2, 10, "the first is on its way to it")
    connection.default_channel.close()
    consumer.channel.close()
    assert under_way(place) == (3, 0, 0)
    assert consumer.taken == []


def test_what_is_no_message_is_kept_aside_and_its_neighbours_come(
    place: Place, connection: Connection, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis: Any = place.redis()
    kept = RefusedTasks(redis)
    monkeypatch.setattr(Refuser, "kept", kept, raising=False)
    monkeypatch.setattr(Refuser, "worker_id", "test", raising=False)
    before = send(place, 2)
    redis.lpush(DEBATES_QUEUE, b"\xff not json", '{"no": "message"}')
    after = send(place, 2)
    connection.drain_events(timeout=5)
    assert [message.payload[0][0] for message in consumer.taken] == [*before, *after]
    assert kept.count() == 2
    assert under_way(place) == (0, 4, 4)


def test_one_client_is_kept_for_all_trips(connection: Connection) -> None:
    channel = connection.channel()
    with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
        assert first is second
        assert first.connection_pool is channel.pool
        assert first.ping()
        # After a lost connection kombu makes the pool anew; a client of the old one would be of no use.
        channel._disconnect_pools()
    with channel.conn_or_acquire() as after:
        assert after is not first
        assert after.ping()
