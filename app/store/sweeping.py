"""What the sweeper asks of the database: which debates are due, and which workers are alive."""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, delete, false, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from app.store.tables import debates, workers

SWEEP_LOCK = 0x5EB47E01
"""An arbitrary key of Postgres' advisory locks: one sweeper at a time, whatever the number of workers."""
MIGRATION_LOCK = 0x5EB47E02
GUARDRAIL_SWEEP_LOCK = 0x5EB47E03
WORKER_SEEN_SECONDS = 15.0
"""A worker not seen for this long no longer counts."""


def require_writes(connection: Connection) -> None:
    """Raises what any write would where the server only reads. Changes nothing: it locks a row that is not there."""
    connection.execute(select(debates.c.id).where(false()).with_for_update())


def become_the_sweeper(connection: Connection, lock: int = SWEEP_LOCK) -> bool:
    """For this transaction only; false when another worker is at it."""
    return bool(connection.execute(select(func.pg_try_advisory_xact_lock(lock))).scalar())


def count_due(connection: Connection, at_most: int) -> int:
    due = select(debates.c.id).where(debates.c.due_at <= func.now()).limit(at_most).subquery()
    return connection.execute(select(func.count()).select_from(due)).scalar() or 0


def take_due(connection: Connection, queued_before_seconds: float | None, at_most: int) -> list[UUID]:
    """Marks due debates as queued and returns them; the caller queues them after its commit.

    Those that were queued already come only if that was more than `queued_before_seconds` ago; never, if that is None.
    Rows that somebody has locked are being worked on: skipped.
    """
    queued: ColumnElement[bool] = debates.c.queued_at.is_(None)
    if queued_before_seconds is not None:
        queued = or_(queued, debates.c.queued_at <= func.now() - timedelta(seconds=queued_before_seconds))
    due = (
        select(debates.c.id)
        .where(debates.c.due_at <= func.now(), queued)
        .order_by(debates.c.due_at)
        .limit(at_most)
        .with_for_update(skip_locked=True)
    )
    found = list(connection.execute(due).scalars())
    if found:
        connection.execute(update(debates).where(debates.c.id.in_(found)).values(queued_at=func.now()))
    return found


def worker_seen(connection: Connection, worker_id: str) -> None:
    seen = insert(workers).values(id=worker_id)
    connection.execute(seen.on_conflict_do_update(index_elements=["id"], set_={"seen_at": func.clock_timestamp()}))


def worker_gone(connection: Connection, worker_id: str) -> None:
    connection.execute(delete(workers).where(workers.c.id == worker_id))


def forget_workers(connection: Connection, unseen_seconds: float) -> None:
    connection.execute(delete(workers).where(workers.c.seen_at < func.now() - timedelta(seconds=unseen_seconds)))


def count_workers(connection: Connection, host: str | None = None) -> int:
    """Those that are alive; only those of one machine, if it is named."""
    seen = workers.c.seen_at >= func.now() - timedelta(seconds=WORKER_SEEN_SECONDS)
    alive = select(func.count()).select_from(workers).where(seen)
    if host is not None:
        alive = alive.where(workers.c.id.startswith(f"{host}:", autoescape=True))
    return connection.execute(alive).scalar() or 0
