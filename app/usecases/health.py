"""Is everything there that a debate needs?"""

from dataclasses import dataclass

import structlog

from app.queue import QueueUnavailable
from app.store import sweeping
from app.store.engine import DatabaseAway, SchemaMissing
from app.store.trouble import DISK_IS_FULL, log_words, words_for
from app.usecases.services import Services

log = structlog.get_logger(__name__)
_NO_TABLES = "The database has not all of its tables: `debate db upgrade` makes them"


@dataclass(frozen=True, slots=True)
class Readiness:
    database: bool
    queue: bool
    workers: int
    problems: tuple[str, ...]
    """In words; empty when everything is there. Without workers debates are still recorded and read, and start when
    one comes."""

    @property
    def is_ready(self) -> bool:
        return not self.problems


def readiness(services: Services) -> Readiness:
    workers, database_problem = _database(services)
    queue_problem = _queue(services)
    problems = tuple(problem for problem in (database_problem, queue_problem) if problem)
    return Readiness(database_problem is None, queue_problem is None, workers, problems)


def _database(services: Services) -> tuple[int, str | None]:
    """How many workers it has seen lately, and what is wrong with it."""
    try:
        with services.engine.begin() as connection:
            workers = sweeping.count_workers(connection)
            sweeping.require_writes(connection)
    except DatabaseAway as problem:
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
        return "Redis takes nothing just now: debates are recorded, and go on when it is back"
    return None
