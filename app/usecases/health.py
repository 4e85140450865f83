"""Is everything there that a debate needs?"""

from dataclasses import dataclass

import structlog

from app.queue import QueueUnavailable
from app.store import sweeping
from app.store.engine import DatabaseAway, SchemaMissing
from app.usecases.services import Services

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Readiness:
    database: bool
    queue: bool
    workers: int

    @property
    def is_ready(self) -> bool:
        """Without workers debates are still recorded and read; they start when a worker comes."""
        return self.database and self.queue


def readiness(services: Services) -> Readiness:
    database, queue, workers = True, True, 0
    try:
        with services.engine.connect() as connection:
            workers = sweeping.count_workers(connection)
    except (*DatabaseAway, SchemaMissing) as problem:
        log.warning("ready.database_down", problem=str(problem))
        database = False
    try:
        services.tasks.length()
    except QueueUnavailable:
        queue = False
    return Readiness(database, queue, workers)
