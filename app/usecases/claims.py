"""What holds for the claims of every kind of work: which of them are still there, and which nobody knows of."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from app.store import claimed_rows
from app.store.claimed_rows import Claimable
from app.store.clock import now
from app.store.ids import first_id_at
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)
UNKNOWN_AFTER_SECONDS = 1.0


def still_held(services: Services, rows: Claimable, claims: Sequence[tuple[UUID, UUID]]) -> set[UUID]:
    """Of claims (id of the row, token), the tokens that are still ours; writes nothing."""
    return claimed_rows.still_held(services.engine, rows, claims)


@repeated_on_conflict
def release_unknown(
    services: Services, rows: Claimable, worker_id: str, known: Sequence[UUID], known_at: datetime | None = None
) -> int:
    """Releases what this worker has claimed and does not know of: the answer to a claim was lost with its connection.

    Must not run concurrently with a claim of the same worker. `known` are the tokens in flight, and those that commits
    in flight ask for, at the time `known_at` (now, if not said). Commits that begin later ask for tokens that are
    younger than that, however long this statement has waited for a thread.
    """
    older_than = first_id_at((known_at or now()) - timedelta(seconds=UNKNOWN_AFTER_SECONDS))
    released = claimed_rows.release_unknown(services.engine, rows, worker_id, known, older_than)
    if released:
        reason = "claimed by this worker, but unknown to it"
        log.warning("claims.released", rows=rows.table.name, count=len(released), reason=reason)
    return len(released)
