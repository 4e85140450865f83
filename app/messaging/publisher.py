"""Sends events to listeners and tasks to workers after a commit.

Both go through Redis, which may be slow or unreachable, so one thread per process sends them and no request waits.
"""

import queue
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import structlog

from app.messaging.bus import BusUnavailable, Event, EventBus
from app.messaging.queue import QueueUnavailable, TaskQueue
from app.observe import failpoints
from app.observe.threads import SupervisedThread

log = structlog.get_logger(__name__)

_MOST_WAITING = 20_000
"""Messages queued while Redis is slow. Further ones are dropped; Postgres has everything."""
_MOST_AT_ONCE = 500
GATHER_SECONDS = 0.002
"""Messages within this time form one batch: a round trip per turn would cost a busy worker more than the turn."""


_Deliver = Callable[[list[Any]], None]


class Publisher:
    def __init__(self, bus: EventBus, tasks: TaskQueue) -> None:
        self._bus = bus
        self._tasks = tasks
        self._waiting: queue.SimpleQueue[tuple[_Deliver, Any] | None] = queue.SimpleQueue()
        self._in_trouble = False
        self._thread = SupervisedThread("publisher", self._run)
        self._thread.start()

    def publish(self, *events: Event) -> None:
        self._put(self._publish, *events)

    def enqueue(self, *debate_ids: UUID) -> None:
        self._put(self._enqueue, *debate_ids)

    def evaluate(self, *evaluation_ids: UUID) -> None:
        self._put(self._evaluate, *evaluation_ids)

    def end_claim(self, token: UUID | None) -> None:
        if token is not None:
            self._put(self._bus.end_claims, token)

    def close(self, timeout_seconds: float = 5) -> None:
        self._waiting.put(None)
        self._thread.join(timeout_seconds)

    def _put(self, deliver: _Deliver, *messages: Any) -> None:
        for message in messages:
            if self._waiting.qsize() < _MOST_WAITING:
                self._waiting.put((deliver, message))
            else:
                self._trouble("the queue of messages for Redis is full; the newest was dropped")

    def _run(self) -> None:
        while True:
            batch = [self._waiting.get()]
            time.sleep(GATHER_SECONDS)
            while len(batch) < _MOST_AT_ONCE:
                try:
                    batch.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            self._deliver([message for message in batch if message is not None])
            if None in batch:
                return

    def _deliver(self, batch: list[tuple[_Deliver, Any]]) -> None:
        try:
            for deliver in (self._publish, self._bus.end_claims, self._enqueue, self._evaluate):
                messages = [message for one, message in batch if one == deliver]
                if messages:
                    deliver(messages)
        except (BusUnavailable, QueueUnavailable) as problem:
            self._trouble(str(problem))
        except Exception:
            # This thread serves the whole process: a failed batch must not end it.
            log.exception("publisher.failed")
        else:
            if self._in_trouble:
                self._in_trouble = False
                log.info("redis.recovered")

    def _publish(self, events: list[Event]) -> None:
        failpoints.reach("publish.before", BusUnavailable)
        self._bus.publish(events)
        failpoints.reach("publish.after", BusUnavailable)

    def _enqueue(self, debate_ids: list[UUID]) -> None:
        for debate_id in dict.fromkeys(debate_ids):
            failpoints.reach("enqueue.before", QueueUnavailable)
            self._tasks.send(debate_id)
            failpoints.reach("enqueue.after", QueueUnavailable)

    def _evaluate(self, evaluation_ids: list[UUID]) -> None:
        for evaluation_id in evaluation_ids:
            self._tasks.send_evaluation(evaluation_id)

    def _trouble(self, problem: str) -> None:
        if not self._in_trouble:
            self._in_trouble = True
            log.warning("redis.unavailable", problem=problem)
