"""Claims of every kind of work: which of them a worker still has, and which it does not know of."""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum
from uuid import UUID

import structlog

from app.store import claimed_rows
from app.store.claimed_rows import DEBATES, DELIVERIES, EVALUATIONS, JUDGMENTS
from app.store.clock import now
from app.store.ids import first_id_at
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)
UNKNOWN_AFTER_SECONDS = 1.0


class WorkKind(Enum):
    TURN = "turn"
    JUDGMENT = "judgment"
    EVALUATION = "guardrail"
    DELIVERY = "webhook"


ROWS_OF = {
    WorkKind.TURN: DEBATES,
    WorkKind.JUDGMENT: JUDGMENTS,
    WorkKind.EVALUATION: EVALUATIONS,
    WorkKind.DELIVERY: DELIVERIES,
}


def reconcile(
    services: Services,
    work: WorkKind,
    worker_id: str,
    generating: Sequence[tuple[UUID, UUID]],
    known: Sequence[UUID],
    known_at: float,
) -> set[UUID]:
    """Releases claims that this worker does not know of, and returns the tokens of those that have ended. `generating`
    are the claims (row, token) that may have ended; `known` the tokens at the monotonic time `known_at`."""
    rows = ROWS_OF[work]
    held = claimed_rows.still_held(services.engine, rows, generating) if generating else set()
    release_unknown(services, work, worker_id, known, now() - timedelta(seconds=time.monotonic() - known_at))
    return {token for _, token in generating} - held


@repeated_on_conflict
def release_unknown(
    services: Services, work: WorkKind, worker_id: str, known: Sequence[UUID], known_at: datetime
) -> int:
    """Releases what this worker has claimed and does not know of, because an answer was lost.

    Must not run concurrently with a claim of the same worker. `known` are the tokens in flight, and those that commits
    in flight ask for, at the time `known_at`; later commits ask for younger tokens.
    """
    rows = ROWS_OF[work]
    older_than = first_id_at(known_at - timedelta(seconds=UNKNOWN_AFTER_SECONDS))
    released = claimed_rows.release_unknown(services.engine, rows, worker_id, known, older_than)
    if released:
        reason = "claimed by this worker, but unknown to it"
        log.warning("claims.released", rows=rows.table.name, count=len(released), reason=reason)
    return len(released)
