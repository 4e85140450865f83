"""The state of the system: readiness, workers and claims, queue, database, turns a minute, providers, money."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from app.messaging.queue import QueueUnavailable
from app.observe import threads
from app.store import claims, leases, overview
from app.store.engine import DatabaseUnavailable, SchemaMissing
from app.store.errors import log_words, words_for
from app.store.overview import LiveClaim
from app.usecases.model_calls import MoneyToday, ProviderNow, money_today, providers_now
from app.usecases.read import snapshot
from app.usecases.services import Services
from app.words.errors import DISK_IS_FULL

log = structlog.get_logger(__name__)

COUNTED = 10_000
"""Counts stop here: a larger number would not help an operator."""


@dataclass(frozen=True, slots=True)
class WorkerNow:
    id: str
    seen_at: datetime
    lease_until: datetime
    holds: tuple[LiveClaim, ...]


@dataclass(frozen=True, slots=True)
class Work:
    now: datetime
    workers: tuple[WorkerNow, ...]
    waiting: int
    oldest_waiting_at: datetime | None
    retrying: int
    turns_last_minute: int
    providers: tuple[ProviderNow, ...]
    money: MoneyToday


@dataclass(frozen=True, slots=True)
class SystemStatus:
    queue_length: int | None
    work: Work | None


def system_status(services: Services) -> SystemStatus:
    return SystemStatus(_queue_length(services), _work(services))


def _queue_length(services: Services) -> int | None:
    try:
        return services.tasks.length()
    except QueueUnavailable:
        return None


def _work(services: Services) -> Work | None:
    try:
        with snapshot(services) as connection:
            now = overview.clock(connection)
            live = overview.live_claims(connection, COUNTED)
            return Work(
                now,
                tuple(
                    WorkerNow(worker_id, seen_at, until, tuple(claim for claim in live if claim.worker_id == worker_id))
                    for worker_id, seen_at, until in leases.live(connection)
                ),
                claims.count_due(connection, COUNTED),
                overview.oldest_due(connection),
                overview.count_retrying(connection, COUNTED),
                overview.count_turns_since(connection, now - timedelta(minutes=1), COUNTED * 10),
                providers_now(services, connection),
                money_today(services, connection),
            )
    except (*DatabaseUnavailable, SchemaMissing) as problem:
        log.warning("system.database_down", problem=log_words(problem))
        return None


_NO_TABLES = "Database tables are missing: run `debate db upgrade`"


@dataclass(frozen=True, slots=True)
class Readiness:
    database: bool
    queue: bool
    workers: int
    threads: bool
    problems: tuple[str, ...]
    """Empty when ready. Missing workers are no problem: debates are stored, and start when a worker does."""

    @property
    def is_ready(self) -> bool:
        return not self.problems


def readiness(services: Services) -> Readiness:
    workers, database_problem = _database(services)
    queue_problem = _queue(services)
    threads_problem = _threads()
    problems = tuple(problem for problem in (database_problem, queue_problem, threads_problem) if problem)
    return Readiness(database_problem is None, queue_problem is None, workers, threads_problem is None, problems)


def _database(services: Services) -> tuple[int, str | None]:
    try:
        with services.engine.begin() as connection:
            workers = leases.count_live(connection)
            leases.require_writes(connection)
    except DatabaseUnavailable as problem:
        log.warning("ready.database_down", problem=log_words(problem))
        return 0, words_for(problem)
    except SchemaMissing:
        log.warning("ready.database_down", problem=_NO_TABLES)
        return 0, _NO_TABLES
    return workers, DISK_IS_FULL if services.full_disk.is_recent else None


def _queue(services: Services) -> str | None:
    try:
        services.tasks.check()
    except QueueUnavailable as problem:
        log.warning("ready.queue_down", problem=str(problem))
        return "Redis is unavailable: debates are stored, and continue when it is back"
    return None


def _threads() -> str | None:
    names = ", ".join(threads.down())
    if not names:
        return None
    log.warning("ready.threads_down", threads=names)
    return f"Threads of this server keep crashing ({names}): see its log, and restart it"
