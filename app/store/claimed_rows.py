"""Rows that workers claim: debates for their next turn, judgments, the guardrail's evaluations, deliveries of webhooks.

`due_at` is when a worker may claim the row; NULL when it is finished or does not wait for a worker. `claim_token` and
`claimed_by` are the claim, which lives as long as its worker's lease. `attempts` counts failures. While a row is
claimed its `due_at` is `infinity`: the index of due rows finds it for a release, and no claim reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from sqlalchemy import Column, Connection, Table, func, null, update
from sqlalchemy.engine import Row

from app.core.retry import stored_delay
from app.store.engine import Engine
from app.store.experiments.tables import judgments
from app.store.ids import new_claim_token
from app.store.solutions.tables import evaluations
from app.store.statements import Prepared
from app.store.tables import debates, webhook_deliveries

_now = func.clock_timestamp()


@dataclass(frozen=True, slots=True)
class Claimable:
    """A table whose rows workers claim."""

    table: Table
    due_when_released: str = "clock_timestamp()"
    """Of a row whose claim ends without a result."""


DEBATES = Claimable(debates, "CASE WHEN status IN ('created', 'running') THEN clock_timestamp() END")
EVALUATIONS = Claimable(evaluations)
JUDGMENTS = Claimable(
    judgments,
    # One of an experiment that was stopped meanwhile waits with the others of it.
    "CASE WHEN NOT EXISTS (SELECT FROM experiments WHERE experiments.id = judgments.experiment_id"
    " AND experiments.status = 'stopped') THEN clock_timestamp() END",
)
DELIVERIES = Claimable(webhook_deliveries)
WITH_RESULTS = (EVALUATIONS, JUDGMENTS, DELIVERIES)
"""The other kinds: a claim of one ends with its result."""
_UNCLAIMED: dict[str, Any] = {"claim_token": null(), "claimed_by": null()}


def readable_columns(table: Table) -> list[Column[Any]]:
    """Without `due_at`: Python has no time for `infinity`."""
    return [column for column in table.c if column.name != "due_at"]


def claim_statement(rows: Claimable, chosen: str, returned: str | None = None, changed: str = "") -> Prepared:
    """Claims rows, at most one per token. `chosen` is the last of the CTEs that find them: `(id, number)` of unclaimed
    rows that it has locked. The lease is locked until the commit: a sweeper sees all claims, or none is made."""
    table = rows.table.name
    returned = returned or ", ".join(f'{table}."{column.name}"' for column in readable_columns(rows.table))
    return Prepared(f"""
WITH RECURSIVE lease AS MATERIALIZED (
    SELECT FROM worker_leases
    WHERE worker_id = %(worker_id)s AND expires_at > clock_timestamp() FOR KEY SHARE SKIP LOCKED
), {chosen}
UPDATE {table} SET
    claim_token = (%(tokens)s::uuid[])[chosen.number], claimed_by = %(worker_id)s, due_at = 'infinity'{changed}
FROM chosen
WHERE {table}.id = chosen.id
  AND EXISTS (SELECT FROM lease)
RETURNING {returned}
""")  # noqa: S608 (only names of columns and constants are put in)


def due_longest(rows: Claimable, is_open: str, first: str = "") -> str:
    """For `claim_statement`: the rows that have been due longest, those that `first` sorts first before the others."""
    return f"""due AS MATERIALIZED (
    SELECT id FROM {rows.table.name}
    WHERE due_at <= now() AND claim_token IS NULL AND {is_open} AND EXISTS (SELECT FROM lease)
    ORDER BY {first} due_at LIMIT cardinality(%(tokens)s::uuid[]) FOR UPDATE SKIP LOCKED
), chosen AS (SELECT id, row_number() OVER () AS number FROM due)"""  # noqa: S608 (only constants are put in)


def claim(
    connection: "psycopg.Connection[Any]", statement: Prepared, worker_id: str, at_most: int, **given: Any
) -> list[dict[str, Any]]:
    tokens = [new_claim_token() for _ in range(at_most)]
    return statement.run(connection, {"worker_id": worker_id, "tokens": tokens, **given}, dict_row).fetchall()


def finish(
    connection: Connection, rows: Claimable, row_id: UUID, token: UUID, values: dict[str, Any], *wanted: Column[Any]
) -> "Row[Any] | None":
    """Writes the values and ends the claim; None when the claim is lost. Returns the wanted columns."""
    return _change_claimed(connection, rows, row_id, token, {**values, **_UNCLAIMED, "due_at": null()}, *wanted)


def postpone(
    connection: Connection,
    rows: Claimable,
    row_id: UUID,
    token: UUID,
    delay_seconds: float,
    values: dict[str, Any],
) -> bool:
    """Ends the claim; the row is due again after the delay."""
    due_at = _now + timedelta(seconds=stored_delay(delay_seconds))
    changed = {**values, **_UNCLAIMED, "due_at": due_at}
    return _change_claimed(connection, rows, row_id, token, changed, rows.table.c.id) is not None


def still_held(engine: Engine, rows: Claimable, claims: Sequence[tuple[UUID, UUID]]) -> set[UUID]:
    """Of the claims (id of the row, token), the tokens that are still there."""
    statement = f"SELECT claim_token FROM {rows.table.name} WHERE id = ANY(%s) AND claim_token = ANY(%s)"  # noqa: S608
    with engine.autocommit() as connection:
        found = connection.execute(statement, [[row_id for row_id, _ in claims], [token for _, token in claims]])
        return {row[0] for row in found}


def release(connection: Connection, rows: Claimable, worker_ids: Sequence[str], noted: str = "") -> list[UUID]:
    """Makes due what these workers have claimed; returns the rows. `noted` is a CTE that reads `released (id,
    worker)`."""
    table = rows.table.name
    statement = f"""
WITH claimed AS MATERIALIZED (
    SELECT id, claimed_by FROM {table} WHERE due_at = 'infinity' AND claimed_by = ANY(%s) FOR UPDATE
), released AS (
    UPDATE {table} SET {_released(rows)} FROM claimed WHERE {table}.id = claimed.id
    RETURNING {table}.id, claimed.claimed_by AS worker
){noted}
SELECT id FROM released
"""  # noqa: S608 (only constants are put in)
    return list(connection.exec_driver_sql(statement, (list(worker_ids),)).scalars())


def release_unknown(
    engine: Engine, rows: Claimable, worker_id: str, known: Sequence[UUID], older_than: UUID
) -> list[UUID]:
    """Makes due what this worker has claimed, except for these tokens and younger ones; returns the rows."""
    statement = f"""
UPDATE {rows.table.name} SET {_released(rows)}
WHERE due_at = 'infinity' AND claimed_by = %s AND claim_token < %s
  AND claim_token NOT IN (SELECT unnest(%s::uuid[]))
RETURNING id
"""  # noqa: S608 (only constants are put in)
    with engine.autocommit() as connection:
        return [row[0] for row in connection.execute(statement, [worker_id, older_than, list(known)])]


def _released(rows: Claimable) -> str:
    return f"claim_token = NULL, claimed_by = NULL, due_at = {rows.due_when_released}"


def _change_claimed(
    connection: Connection, rows: Claimable, row_id: UUID, token: UUID, values: dict[str, Any], *wanted: Column[Any]
) -> "Row[Any] | None":
    table = rows.table
    claimed = update(table).where(table.c.id == row_id, table.c.claim_token == token).values(values)
    return connection.execute(claimed.returning(*wanted)).one_or_none()
