"""Tells the world after a commit: events to watchers, tasks to workers.

Both go through Redis, which may be slow or away. No request and no turn waits for it: one thread per process carries
the messages, and what it cannot deliver is only a hint that the sweeper and the watchers do without.
"""

import queue
import threading
import time
from dataclasses import dataclass
from uuid import UUID

import structlog

from app import failpoints
from app.bus import BusUnavailable, Event, EventBus
from app.queue import QueueUnavailable, TaskQueue

log = structlog.get_logger(__name__)

_MOST_WAITING = 20_000
"""Messages kept while Redis is slow. Beyond it they are dropped: memory is bounded, and Postgres has the truth."""
_MOST_AT_ONCE = 500
GATHER_SECONDS = 0.002
"""What comes together goes together: a trip to Redis for each turn would cost a busy worker more than the turn."""


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """A contribution that waits for the guardrail."""

    id: UUID


_Told = Event | UUID | _Evaluation


class Teller:
    def __init__(self, bus: EventBus, tasks: TaskQueue) -> None:
        self._bus = bus
        self._tasks = tasks
        self._waiting: queue.Queue[_Told | None] = queue.Queue(_MOST_WAITING)
        self._in_trouble = False
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)
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

    def close(self, timeout_seconds: float = 5) -> None:
        """Delivers what waits, as far as the time goes."""
        until = time.monotonic() + timeout_seconds
        try:
            self._waiting.put(None, timeout=timeout_seconds)
        except queue.Full:
            return
        self._thread.join(max(0, until - time.monotonic()))

    def _put(self, message: _Told) -> None:
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            self._trouble("too many messages wait for Redis; the newest was dropped")

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
            for debate_id in dict.fromkeys(debate_ids):
                failpoints.reach("enqueue.before", QueueUnavailable)
                self._tasks.send(debate_id)
                failpoints.reach("enqueue.after", QueueUnavailable)
            for evaluation_id in [message.id for message in messages if isinstance(message, _Evaluation)]:
                self._tasks.send_evaluation(evaluation_id)
        except (BusUnavailable, QueueUnavailable) as problem:
            self._trouble(str(problem))
        except Exception:
            # This thread serves the whole process: whatever goes wrong with one batch must not end it.
            log.exception("teller.failed")
        else:
            if self._in_trouble:
                self._in_trouble = False
                log.info("redis.back")

    def _trouble(self, problem: str) -> None:
        """Once per trouble, not once per message."""
        if not self._in_trouble:
            self._in_trouble = True
            log.warning("redis.away", problem=problem)
