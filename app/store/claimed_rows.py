"""Rows that workers claim, think about and settle once: the guardrail's evaluations, judgments, deliveries of webhooks.

The tables have the same columns for it: `due_at` is when a worker may claim the row, NULL once it is settled or while
it is held back; `claim_token` and `claimed_by` are the claim, which lives as long as its worker's lease; `attempts`
counts failures. While a row is claimed its `due_at` is `infinity`: the index of due rows finds it for a release, and no
claim reads it.
The claim of a delivery has no `claimed_by`: it lasts until `due_at` (app/store/webhooks.py).
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Column, Connection, Table, func, null, update
from sqlalchemy.engine import Row

from app.core.retry import stored_delay
from app.store.statements import Prepared

_now = func.clock_timestamp()


def _unclaimed(table: Table) -> dict[str, Any]:
    return {name: null() for name in ("claim_token", "claimed_by") if name in table.c}


def readable_columns(table: Table) -> list[Column[Any]]:
    """Without `due_at`: Python has no time for `infinity`."""
    return [column for column in table.c if column.name != "due_at"]


def claim_statement(table: Table, is_open: str, first: str = "") -> Prepared:
    """Claims the rows that have been due longest, one per token, those that `first` sorts first before the others, and
    returns them. None without a live lease, which is locked until the claims are committed: whoever ends it
    (app/store/leases.py) sees all of them, or they are not made."""
    returned = ", ".join(f'open_row."{column.name}"' for column in readable_columns(table))
    return Prepared(f"""
WITH lease AS MATERIALIZED (
    SELECT FROM worker_leases
    WHERE worker_id = %(worker_id)s AND expires_at > clock_timestamp() FOR KEY SHARE SKIP LOCKED
), due AS MATERIALIZED (
    SELECT id FROM {table.name}
    WHERE due_at <= now() AND claim_token IS NULL AND {is_open} AND EXISTS (SELECT FROM lease)
    ORDER BY {first} due_at LIMIT cardinality(%(tokens)s::uuid[]) FOR UPDATE SKIP LOCKED
)
UPDATE {table.name} AS open_row SET
    claim_token = (%(tokens)s::uuid[])[numbered.number], claimed_by = %(worker_id)s, due_at = 'infinity'
FROM (SELECT id, row_number() OVER () AS number FROM due) AS numbered
WHERE open_row.id = numbered.id
RETURNING {returned}
""")  # noqa: S608 (only names of columns and conditions are put in)


def settle(
    connection: Connection, table: Table, row_id: UUID, token: UUID, values: dict[str, Any], *wanted: Column[Any]
) -> "Row[Any] | None":
    """Writes the values and ends the claim; None when the claim is lost. Returns the wanted columns."""
    return _change_held(connection, table, row_id, token, {**values, **_unclaimed(table), "due_at": null()}, *wanted)


def postpone(
    connection: Connection,
    table: Table,
    row_id: UUID,
    token: UUID,
    delay_seconds: float,
    values: dict[str, Any],
) -> bool:
    """Ends the claim; the row is due again after the delay."""
    due_at = _now + timedelta(seconds=stored_delay(delay_seconds))
    changed = {**values, **_unclaimed(table), "due_at": due_at}
    return _change_held(connection, table, row_id, token, changed, table.c.id) is not None


def release_unknown(connection: Connection, table: Table, worker_id: str, known: Sequence[UUID]) -> int:
    """Makes this worker's claimed rows due, except for the known tokens; returns how many."""
    claimed = (table.c.due_at.is_not(None), table.c.claimed_by == worker_id)
    statement = update(table).where(*claimed, table.c.claim_token.not_in(known))
    return connection.execute(statement.values({**_unclaimed(table), "due_at": _now})).rowcount


def _change_held(
    connection: Connection, table: Table, row_id: UUID, token: UUID, values: dict[str, Any], *wanted: Column[Any]
) -> "Row[Any] | None":
    held = update(table).where(table.c.id == row_id, table.c.claim_token == token).values(values)
    return connection.execute(held.returning(*wanted)).one_or_none()
