"""Takes messages from the queue several at a time.

Kombu makes two trips to Redis for each message, one to take it and one to note that it is under way, and a new client
for each trip. When a hundred tasks wait for a hundred threads, the last would begin when the first is well under way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import time
from typing import Any

from kombu.transport.redis import Channel, QoS
from kombu.transport.virtual import QoS as VirtualQoS
from kombu.utils.json import dumps, loads

MOST_ALONG = 15
"""Taken along with the one that woke us. Not all that there is room for: other workers may be idle too."""


class GatheringQoS(QoS):
    _gathered: list[Any] | None = None

    def append(self, message: Any, delivery_tag: str) -> None:
        if self._gathered is None:
            super().append(message, delivery_tag)  # type: ignore[no-untyped-call]
        else:
            self._gathered.append(message)
            VirtualQoS.append(self, message, delivery_tag)  # type: ignore[no-untyped-call]

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """What is taken in this block is noted in one trip at its end. Acknowledgements come after it: the same thread
        makes them."""
        self._gathered = []
        try:
            yield
        finally:
            gathered, self._gathered = self._gathered, None
            # Those that were refused meanwhile are no longer under way.
            self._flush()  # type: ignore[no-untyped-call]
            self._note([message for message in gathered if message.delivery_tag in self._delivered])

    def _note(self, messages: list[Any]) -> None:
        """As kombu does for one."""
        if not messages:
            return
        packed = {message.delivery_tag: _packed(message) for message in messages}
        with self.pipe_or_acquire() as pipe:
            pipe.zadd(self.unacked_index_key, dict.fromkeys(packed, time()))
            pipe.hset(self.unacked_key, mapping=packed)
            pipe.execute()


def _packed(message: Any) -> str:
    sent = message.delivery_info
    packed: str = dumps([message._raw, sent["exchange"], sent["routing_key"]])  # type: ignore[no-untyped-call]
    return packed


class TakingChannel(Channel):
    QoS = GatheringQoS
    _kept: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        """A client holds no connection, only the pool, so one serves all."""
        if asynchronous:
            # For the connection on which the worker waits for messages; made once.
            return super()._create_client(asynchronous=True)  # type: ignore[no-untyped-call]
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = super()._create_client()  # type: ignore[no-untyped-call]
        return self._kept

    def _brpop_read(self, **options: Any) -> bool:
        taken: bool = super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        # Kombu has just moved the queue it came from to the end, so that the next one comes from another. There is none
        # when it reads what came too late, at the end.
        for queue in self._queue_cycle.items[-1:]:
            self._take_along(queue)
        return taken

    def _take_along(self, queue: str) -> None:
        room = min(self.qos.can_consume_max_estimate(), MOST_ALONG)
        if room < 1:
            return
        with self.qos.gathering():
            for item in self._create_client().rpop(self._q_for_pri(queue, 0), room) or []:  # type: ignore[no-untyped-call]
                self._deliver_item(item, queue)

    def _deliver_item(self, item: bytes, queue: str) -> None:
        self.connection._deliver(loads(item.decode()), queue)  # type: ignore[no-untyped-call]
