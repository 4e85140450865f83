"""Leases of workers that died, froze, or have not been heard of."""

import json

from harness import Place

from situations import rows

IN_SECONDS = "clock_timestamp() + make_interval(secs => %s)"


def expire(place: Place, worker_id: str | None = None) -> None:
    """The lease of this worker, or of every worker, is over. A live worker renews it."""
    extend(place, -1, worker_id)


def extend(place: Place, seconds: float, worker_id: str | None = None) -> None:
    """It ends this many seconds from now."""
    if worker_id is None:
        rows.change(place, "worker_leases", f"expires_at = {IN_SECONDS}", seconds)
    else:
        rows.change(place, "worker_leases", f"expires_at = {IN_SECONDS}", seconds, worker_id, where="worker_id = %s")


def add(place: Place, worker_id: str, seconds: float = 3_600, players: dict[str, object] | None = None) -> None:
    """Of a worker that does nothing else."""
    told = {} if players is None else {"players": json.dumps(players)}
    rows.insert(place, "worker_leases", worker_id=worker_id, renewed_at="now", expires_at="now", **told)
    extend(place, seconds, worker_id)


def remove_all(place: Place) -> None:
    place.sql("DELETE FROM worker_leases")
