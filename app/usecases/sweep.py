"""Maintenance by workers: leases, releasing the claims of dead workers, and the index of texts.

Due work needs no task to be found: every worker polls twice a second, and whenever it has room again.
"""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from app.observe import metrics
from app.store import leases
from app.store.text_index import PASS_EVERY_SECONDS, index_new_turns
from app.usecases.experiments.pausing import pause_or_resume_all
from app.usecases.players import usable_here
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)


@repeated_on_conflict
def sweep(services: Services) -> int:
    """Releases the claims of dead workers and charges their calls; returns how many debates are due by it."""
    if not leases.is_any_lapsed(services.engine):
        metrics.sweeps.inc()
        return 0
    with services.engine.begin() as connection:
        if not leases.try_sweep_lock(connection):
            return 0
        dead = leases.lapsed(connection)
        released = leases.end(connection, dead) if dead else []
    metrics.sweeps.inc()
    metrics.claims_reclaimed.inc(len(released))
    for worker_id in dead:
        log.warning("worker.lease_lapsed", worker_id=worker_id)
    if released:
        log.info("sweep.released", debates=len(released))
        # A hint for idle workers; busy workers find the debates when they poll.
        services.publisher.enqueue(*released)
    return len(released)


def begin_lease(services: Services, worker_id: str) -> None:
    """Also stores which players this worker can run."""
    leases.begin(services.engine, worker_id, services.settings.claim_seconds, usable_here(services.settings))


def renew_lease(services: Services, worker_id: str) -> bool:
    """False when the lease is gone, and with it all its claims."""
    return leases.renew(services.engine, worker_id, services.settings.claim_seconds)


@repeated_on_conflict
def end_lease(services: Services, worker_id: str) -> None:
    """Turns that are still claimed under it become due."""
    with services.engine.begin() as connection:
        released = leases.end(connection, [worker_id])
    services.publisher.enqueue(*released)


@dataclass(frozen=True, slots=True)
class Upkeep:
    name: str
    every_seconds: float
    run: Callable[[Services], object]
    needs_lease: bool = False


def _sweep(services: Services) -> None:
    sweep(services)
    pause_or_resume_all(services)


UPKEEP = (
    Upkeep("sweeper", 1.0, _sweep, needs_lease=True),
    Upkeep("text_index", PASS_EVERY_SECONDS, lambda services: index_new_turns(services.engine)),
)
