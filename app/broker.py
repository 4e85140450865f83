"""Celery's way to Redis, with a client that is kept.

Kombu makes a new client for each message that it takes and again for each that it acknowledges, and that costs a worker
more than both. A client holds no connection, only the pool, so threads share it.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis


class Channel(redis.Channel):
    _kept: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            # For the connection on which the worker waits for messages; made once.
            return super()._create_client(asynchronous=True)  # type: ignore[no-untyped-call]
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = super()._create_client()  # type: ignore[no-untyped-call]
        return self._kept


class Transport(redis.Transport):
    Channel = Channel


def use() -> None:
    """By its name, because the address of a unix socket names the transport and leaves no other choice."""
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport"))
