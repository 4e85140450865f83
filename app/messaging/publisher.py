"""Sends events to listeners and tasks to workers after a commit.

Both go through Redis, which may be slow or unreachable, so one thread per process sends them and no request waits.
"""

import queue
import time
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class _Evaluation:
    id: UUID


@dataclass(frozen=True, slots=True)
class _EndedClaim:
    token: UUID


_Told = Event | UUID | _Evaluation | _EndedClaim


class Publisher:
    def __init__(self, bus: EventBus, tasks: TaskQueue) -> None:
        self._bus = bus
        self._tasks = tasks
        self._waiting: queue.SimpleQueue[_Told | None] = queue.SimpleQueue()
        self._in_trouble = False
        self._thread = SupervisedThread("publisher", self._run)
        self._thread.start()

    def publish(self, *events: Event) -> None:
        for event in events:
            self._put(event)

    def enqueue(self, *debate_ids: UUID) -> None:
        for debate_id in debate_ids:
            self._put(debate_id)

    def evaluate(self, *evaluation_ids: UUID) -> None:
        for evaluation_id in evaluation_ids:
            self._put(_Evaluation(evaluation_id))

    def end_claim(self, token: UUID | None) -> None:
        """Tells the worker that holds this claim to cancel its player."""
        if token is not None:
            self._put(_EndedClaim(token))

    def close(self, timeout_seconds: float = 5) -> None:
        """Delivers queued messages, for at most `timeout_seconds`."""
        self._waiting.put(None)
        self._thread.join(timeout_seconds)

    def _put(self, message: _Told) -> None:
        if self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put(message)
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

    def _deliver(self, messages: list[_Told]) -> None:
        events = [message for message in messages if isinstance(message, Event)]
        debate_ids = [message for message in messages if isinstance(message, UUID)]
        try:
            if events:
                failpoints.reach("publish.before", BusUnavailable)
                self._bus.publish(events)
                failpoints.reach("publish.after", BusUnavailable)
            ended = [message.token for message in messages if isinstance(message, _EndedClaim)]
            if ended:
                self._bus.end_claims(ended)
            for debate_id in dict.fromkeys(debate_ids):
                failpoints.reach("enqueue.before", QueueUnavailable)
                self._tasks.send(debate_id)
                failpoints.reach("enqueue.after", QueueUnavailable)
            for evaluation_id in [message.id for message in messages if isinstance(message, _Evaluation)]:
                self._tasks.send_evaluation(evaluation_id)
        except (BusUnavailable, QueueUnavailable) as problem:
            self._trouble(str(problem))
        except Exception:
            # This thread serves the whole process: a failed batch must not end it.
            log.exception("publisher.failed")
        else:
            if self._in_trouble:
                self._in_trouble = False
                log.info("redis.recovered")

    def _trouble(self, problem: str) -> None:
        if not self._in_trouble:
            self._in_trouble = True
            log.warning("redis.unavailable", problem=problem)
