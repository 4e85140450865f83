"""Workers' leases. A worker renews one row every few seconds; all its claims live as long as that row does.

The sweeper releases the claims of workers whose lease has expired and deletes the lease in the same transaction: a
worker that resumes finds no lease, and nothing that it does under the old one is stored.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from sqlalchemy import Connection, delete, false, func, select

from app.core.events import EventKind
from app.store import calls_under_way, claimed_rows
from app.store.claimed_rows import DEBATES, WITH_RESULTS
from app.store.engine import Engine
from app.store.experiments import costs
from app.store.statements import Prepared
from app.store.tables import debates, worker_leases

SWEEP_LOCK = 0x5EB47E01
"""An arbitrary key of Postgres' advisory locks: one sweeper at a time, whatever the number of workers."""
MIGRATION_LOCK = 0x5EB47E02

_RENEW = """
UPDATE worker_leases SET renewed_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(secs => %s)
WHERE worker_id = %s
"""
_BEGIN = """
INSERT INTO worker_leases (worker_id, renewed_at, expires_at, players)
VALUES (%s, clock_timestamp(), clock_timestamp() + make_interval(secs => %s), %s)
"""
_NOTED = f""", noted AS (
    INSERT INTO debate_events (debate_id, at, kind, by)
    SELECT id, clock_timestamp(), '{EventKind.RELEASED}', worker FROM released
)"""  # noqa: S608 (only constants are put in)
_IS_ANY_LAPSED = Prepared("SELECT EXISTS (SELECT FROM worker_leases WHERE expires_at <= clock_timestamp())")


def begin(engine: Engine, worker_id: str, seconds: float, players: Mapping[str, Any] | None = None) -> None:
    """`players` says whose models this worker could call."""
    with engine.autocommit() as connection:
        connection.execute(_BEGIN, [worker_id, seconds, None if players is None else Jsonb(dict(players))])


def reported_players(connection: Connection) -> list[dict[str, list[str]]]:
    """What the live workers have said with their leases."""
    query = select(worker_leases.c.players).where(
        worker_leases.c.expires_at > func.clock_timestamp(), worker_leases.c.players.is_not(None)
    )
    return list(connection.execute(query).scalars())


def renew(engine: Engine, worker_id: str, seconds: float) -> bool:
    """False when the lease is gone: it had expired, and its claims were released."""
    with engine.autocommit() as connection:
        return connection.execute(_RENEW, [seconds, worker_id]).rowcount == 1


def is_any_lapsed(engine: Engine) -> bool:
    """Whether there is anything to release: workers ask every second, so one short statement."""
    with engine.autocommit() as connection:
        [(is_any,)] = _IS_ANY_LAPSED.run(connection, {})
        return bool(is_any)


def try_sweep_lock(connection: Connection) -> bool:
    """For this transaction only; false when another worker is at it."""
    return bool(connection.execute(select(func.pg_try_advisory_xact_lock(SWEEP_LOCK))).scalar())


def lapsed(connection: Connection) -> list[str]:
    """The workers whose lease has expired."""
    query = select(worker_leases.c.worker_id).where(worker_leases.c.expires_at <= func.clock_timestamp())
    return list(connection.execute(query.with_for_update(skip_locked=True)).scalars())


def end(connection: Connection, worker_ids: Sequence[str]) -> list[UUID]:
    """Ends leases, releases their claims and charges calls without a stored outcome; returns the debates now due."""
    # Locked first: this waits for claims in flight and releases them with the others, and no other begins.
    connection.execute(
        select(worker_leases.c.worker_id).where(worker_leases.c.worker_id.in_(worker_ids)).with_for_update()
    )
    released = claimed_rows.release(connection, DEBATES, worker_ids, _NOTED)
    costs.lose(connection, worker_ids)
    for rows in WITH_RESULTS:
        claimed_rows.release(connection, rows, worker_ids)
    connection.execute(delete(worker_leases).where(worker_leases.c.worker_id.in_(worker_ids)))
    calls_under_way.lose(connection)
    return released


def require_writes(connection: Connection) -> None:
    """Raises what any write would where the server only reads. Changes nothing: it locks a row that is not there."""
    connection.execute(select(debates.c.id).where(false()).with_for_update())


def live(connection: Connection) -> list[tuple[str, datetime, datetime]]:
    """The workers that are alive, when each last said so, and until when that counts."""
    columns = (worker_leases.c.worker_id, worker_leases.c.renewed_at, worker_leases.c.expires_at)
    query = select(*columns).where(worker_leases.c.expires_at > func.now()).order_by(worker_leases.c.worker_id)
    return [(row[0], row[1], row[2]) for row in connection.execute(query)]


def count_live(connection: Connection, host: str | None = None) -> int:
    """Workers that are alive; only those of one machine, if it is named."""
    return sum(1 for worker_id, *_ in live(connection) if host is None or worker_id.startswith(f"{host}:"))
