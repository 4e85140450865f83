"""How the whole system is: workers and what they hold, the queue, the database, the pace."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from app.queue import QueueUnavailable
from app.store import sweeping, watching
from app.store.engine import DatabaseAway, SchemaMissing
from app.store.sweeping import WORKER_SEEN_SECONDS
from app.store.trouble import log_words
from app.store.watching import HeldNow
from app.usecases.read import snapshot
from app.usecases.services import Services

log = structlog.get_logger(__name__)

COUNTED = 10_000
"""Nothing here is counted further: an operator who sees this much knows enough."""


@dataclass(frozen=True, slots=True)
class WorkerNow:
    id: str
    seen_at: datetime
    holds: tuple[HeldNow, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """What the database knows."""

    now: datetime
    workers: tuple[WorkerNow, ...]
    waiting: int
    """Turns that a worker could take now."""
    oldest_waiting_at: datetime | None
    retrying: int
    turns_last_minute: int


@dataclass(frozen=True, slots=True)
class SystemStatus:
    queue_length: int | None
    """None while the queue is down."""
    tasks_refused: int | None
    """Messages that no worker understood, and that are kept; None while the queue is down."""
    work: Work | None
    """None while the database is down."""


def system_status(services: Services) -> SystemStatus:
    length, refused = _queue(services)
    return SystemStatus(length, refused, _work(services))


def _queue(services: Services) -> tuple[int | None, int | None]:
    try:
        return services.tasks.length(), services.refused.count()
    except QueueUnavailable:
        return None, None


def _work(services: Services) -> Work | None:
    try:
        with snapshot(services) as connection:
            now = watching.clock(connection)
            held = watching.held_now(connection, COUNTED)
            return Work(
                now,
                tuple(
                    WorkerNow(worker_id, seen_at, tuple(turn for turn in held if turn.worker_id == worker_id))
                    for worker_id, seen_at in watching.workers_seen(connection, WORKER_SEEN_SECONDS)
                ),
                sweeping.count_due(connection, COUNTED),
                watching.oldest_due(connection),
                watching.count_retrying(connection, COUNTED),
                watching.count_turns_since(connection, now - timedelta(minutes=1), COUNTED * 10),
            )
    except (*DatabaseAway, SchemaMissing) as problem:
        log.warning("system.database_down", problem=log_words(problem))
        return None
