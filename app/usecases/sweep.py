"""Finding what nobody looks at: lapsed claims, backoffs that are over, tasks that Redis lost."""

import structlog

from app import metrics
from app.queue import GUARDRAIL_QUEUE, QueueUnavailable
from app.store import evaluations, sweeping
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)

LOST_AFTER_SECONDS_WITH_EMPTY_QUEUE = 3.0
LOST_AFTER_SECONDS = 60.0
MOST_AT_ONCE = 1_000


def lost_after_seconds(queue_length: int, due: int) -> float | None:
    """How long ago a debate must have been queued to be queued again; None for never.

    A backlog must not multiply: as long as there is a task for every due debate, nothing was lost and they only wait.
    """
    if queue_length == 0:
        return LOST_AFTER_SECONDS_WITH_EMPTY_QUEUE
    if queue_length >= due:
        return None
    return LOST_AFTER_SECONDS


@repeated_on_conflict
def sweep(services: Services) -> int:
    """Queues what is due; returns how many. One worker at a time does it, the others return at once."""
    try:
        queue_length = services.tasks.length()
    except QueueUnavailable:
        # Marking debates as queued now would only make them wait longer once Redis is back.
        return 0
    with services.engine.begin() as connection:
        if not sweeping.become_the_sweeper(connection):
            return 0
        due = sweeping.count_due(connection, at_most=queue_length + 1)
        found = sweeping.take_due(connection, lost_after_seconds(queue_length, due), MOST_AT_ONCE)
        sweeping.forget_workers(connection, unseen_seconds=20 * sweeping.WORKER_SEEN_SECONDS)
    _count("debates", len(found))
    services.teller.enqueue(*found)
    return len(found)


@repeated_on_conflict
def sweep_evaluations(services: Services) -> int:
    """The same for contributions that wait for the guardrail."""
    try:
        queue_length = services.tasks.length(GUARDRAIL_QUEUE)
    except QueueUnavailable:
        return 0
    with services.engine.begin() as connection:
        if not sweeping.become_the_sweeper(connection, sweeping.GUARDRAIL_SWEEP_LOCK):
            return 0
        due = evaluations.count_due(connection, at_most=queue_length + 1)
        found = evaluations.take_due(connection, lost_after_seconds(queue_length, due), MOST_AT_ONCE)
    _count("evaluations", len(found))
    services.teller.evaluate(*found)
    return len(found)


def _count(kind: str, found: int) -> None:
    metrics.sweeps.labels(kind).inc()
    metrics.swept.labels(kind).inc(found)
    if found:
        log.info("sweep.queued", kind=kind, count=found)


@repeated_on_conflict
def worker_seen(services: Services, worker_id: str) -> None:
    with services.engine.begin() as connection:
        sweeping.worker_seen(connection, worker_id)


@repeated_on_conflict
def worker_gone(services: Services, worker_id: str) -> None:
    with services.engine.begin() as connection:
        sweeping.worker_gone(connection, worker_id)
