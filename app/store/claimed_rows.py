"""Rows that workers claim, think about and settle once: the guardrail's evaluations and judgments.

Both tables have the same columns for it: `due_at` is when a worker may claim the row, NULL once it is settled or while
it is held back; `claim_token` and `claimed_by` are the claim, which lives as long as its worker's lease; `attempts`
counts failures. While a row is claimed its `due_at` lies ahead, so that the index of due rows finds it for a release.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Connection, Table, bindparam, func, null, select, update
from sqlalchemy.engine import Row

from app.core.retry import stored_delay
from app.store import leases
from app.store.commit import OLD_CLAIM_SECONDS

_now = func.clock_timestamp()


def _unclaimed(table: Table) -> dict[str, Any]:
    values: dict[str, Any] = {"claim_token": null(), "claimed_by": null()}
    return {**values, "queued_at": null()} if "queued_at" in table.c else values


def claim(
    connection: Connection,
    table: Table,
    worker_id: str,
    tokens: Sequence[UUID],
    conditions: Sequence[ColumnElement[bool]],
    first: Sequence[ColumnElement[Any]] = (),
) -> dict[UUID, UUID]:
    """Claims the rows that have been due longest, one per token, those that `first` sorts first before the others;
    returns id → token. None without a live lease."""
    if not leases.hold(connection, worker_id):
        return {}
    due = (
        select(table.c.id)
        .where(table.c.due_at <= func.now(), *conditions)
        .order_by(*first, table.c.due_at)
        .limit(len(tokens))
        .with_for_update(skip_locked=True)
    )
    claimed = dict(zip(connection.execute(due).scalars(), tokens, strict=False))
    if claimed:
        values: dict[str, Any] = {
            **_unclaimed(table),
            "claim_token": bindparam("token"),
            "claimed_by": worker_id,
            "due_at": _now + timedelta(seconds=OLD_CLAIM_SECONDS),
        }
        connection.execute(
            update(table).where(table.c.id == bindparam("row_id")).values(values),
            [{"row_id": row_id, "token": token} for row_id, token in claimed.items()],
        )
    return claimed


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
