"""What models were sent and answered: stored for judgments, read, pruned. `app.store.commit` stores it for turns."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Table, delete, insert, select

from app.core.brief import Exchange
from app.store.experiments.tables import judgment_exchanges
from app.store.mapping import Mapped
from app.store.statements import count
from app.store.tables import exchanges

_TABLES = {exchanges: exchanges.c.turn_id, judgment_exchanges: judgment_exchanges.c.judgment_id}
"""With the column that says whose call it was."""

exchange_rows = Mapped(Exchange)
_row = exchange_rows.writer(exchange_rows.columns)


def rows_of(calls: Sequence[Exchange]) -> list[dict[str, Any]]:
    """Numbered from 1."""
    return [{"number": number, **_row(call)} for number, call in enumerate(calls, 1)]


def add_to_judgment(connection: Connection, judgment_id: UUID, calls: Sequence[Exchange]) -> None:
    if calls:
        connection.execute(insert(judgment_exchanges), [{"judgment_id": judgment_id, **row} for row in rows_of(calls)])


def of_turn(connection: Connection, turn_id: UUID) -> list[Exchange]:
    return _of(connection, exchanges, turn_id)


def of_judgment(connection: Connection, judgment_id: UUID) -> list[Exchange]:
    return _of(connection, judgment_exchanges, judgment_id)


def _of(connection: Connection, table: Table, owner: UUID) -> list[Exchange]:
    columns = [table.c[name] for name in exchange_rows.columns]
    statement = select(*columns).where(_TABLES[table] == owner).order_by(table.c.number)
    return exchange_rows.all(connection, statement)


def count_before(connection: Connection, before: datetime) -> int:
    return sum(count(connection, select(table.c.number).where(table.c.created_at < before)) for table in _TABLES)


def delete_before(connection: Connection, before: datetime, at_most: int) -> int:
    """Returns how many were deleted."""
    gone = 0
    for table, owner in _TABLES.items():
        oldest = select(owner, table.c.number).where(table.c.created_at < before).order_by(table.c.created_at)
        some = oldest.limit(at_most - gone).with_for_update(skip_locked=True).cte()
        these = delete(table).where(owner == some.c[owner.name], table.c.number == some.c.number)
        gone += connection.execute(these).rowcount
    return gone
