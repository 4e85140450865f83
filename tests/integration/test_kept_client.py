"""The worker's way to Redis."""

import pytest
from harness import Place
from kombu import transport

from app.queue import make_celery
from worker.refusing import CarefulTransport


def test_messages_are_taken_and_acknowledged_through_one_client_that_is_kept(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(transport._transport_cache, "redis", CarefulTransport)
    with make_celery(str(place.settings.redis_url)).connection_for_read() as connection:
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
