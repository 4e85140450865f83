"""Maintenance by an operator: pruning old debates and records, and recomputing all cursors from the turns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from app.store import debates, exchanges, materials, overview, webhooks
from app.store.debates import EndedCount
from app.store.engine import Connection
from app.store.experiments import interruptions
from app.store.repair import CursorRepair, repair_cursors
from app.usecases.announce import deleted
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)

BATCH = 100
"""Debates per transaction. Small, so that locks are held briefly and an interruption loses little."""


def count_old(services: Services, age: timedelta) -> tuple[datetime, EndedCount]:
    with services.engine.begin() as connection:
        before = overview.clock(connection) - age
        return before, debates.count_ended(connection, before)


def prune(services: Services, before: datetime) -> Iterator[EndedCount]:
    """Deletes in batches, and yields what each batch deleted. Skips debates whose row is locked."""
    since = None
    while True:
        with services.engine.begin() as connection:
            gone = debates.delete_ended(connection, since, before, BATCH)
            interruptions.lose_debates(connection, [one.id for one in gone])
        if not gone:
            break
        since = max(one.updated_at for one in gone)
        log.info("debates.pruned", debates=len(gone))
        # Listeners get the same event as for a deletion by a person.
        services.publisher.publish(*(deleted(one.id) for one in gone))
        yield EndedCount(len(gone), sum(one.turn_count for one in gone))
    _prune_documents(services)


def _prune_documents(services: Services) -> None:
    last: bytes | None = b""
    while last is not None:
        with services.engine.begin() as connection:
            last = materials.delete_unused(connection, last, BATCH)


@dataclass(frozen=True, slots=True)
class Records:
    count: Callable[[Connection, datetime], int]
    delete: Callable[[Connection, datetime, int], int]
    batch: int


RECORDS = {
    "exchanges": Records(exchanges.count_before, exchanges.delete_before, BATCH),
    "deliveries": Records(webhooks.count_finished, webhooks.delete_finished, 10_000),
}


def count_old_records(services: Services, kind: str, age: timedelta) -> tuple[datetime, int]:
    with services.engine.begin() as connection:
        before = overview.clock(connection) - age
        return before, RECORDS[kind].count(connection, before)


def prune_records(services: Services, kind: str, before: datetime) -> Iterator[int]:
    records = RECORDS[kind]
    while True:
        with services.engine.begin() as connection:
            gone = records.delete(connection, before, records.batch)
        if not gone:
            return
        log.info("records.pruned", kind=kind, count=gone)
        yield gone


def repair(services: Services) -> list[CursorRepair]:
    repaired: list[CursorRepair] = []
    last: UUID | None = UUID(int=0)
    while last is not None:
        some, last = _repair_some(services, last)
        repaired += some
    return repaired


@repeated_on_conflict
def _repair_some(services: Services, after: UUID) -> tuple[list[CursorRepair], UUID | None]:
    with services.engine.begin() as connection:
        return repair_cursors(connection, after, BATCH)
