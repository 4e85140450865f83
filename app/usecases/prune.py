"""Retention: what ended long ago is deleted, with its turns. Solutions and agents stay."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog

from app.store import pruning
from app.store.pruning import Counted
from app.usecases.events import deleted
from app.usecases.services import Services

log = structlog.get_logger(__name__)

BATCH = 100
"""Debates in one transaction: short, so that nobody waits for it and an interruption loses little."""


def count_old(services: Services, age: timedelta) -> tuple[datetime, Counted]:
    """The moment that this age means now, and what ended and was last touched before it."""
    with services.engine.begin() as connection:
        before = pruning.moment_before(connection, age)
        return before, pruning.count_ended(connection, before)


def prune(services: Services, before: datetime) -> Iterator[Counted]:
    """Deletes batch after batch, and says after each what went with it."""
    while True:
        with services.engine.begin() as connection:
            gone = pruning.delete_ended(connection, before, BATCH)
        if not gone:
            return
        log.info("debates.pruned", debates=len(gone))
        # Whoever still looks at one, or at the list, is told as if a person had deleted it.
        services.teller.publish(*(deleted(debate_id) for debate_id in gone))
        yield Counted(len(gone), sum(gone.values()))
