"""What models were sent and answered: read and pruned. `app.store.commit` stores it with its turn."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, delete, func, select

from app.core.brief import Exchange
from app.store.rows import of_row
from app.store.tables import exchanges

_COLUMNS = [exchanges.c[name] for name in Exchange.__slots__]


def of_turn(connection: Connection, turn_id: UUID) -> list[Exchange]:
    statement = select(*_COLUMNS).where(exchanges.c.turn_id == turn_id).order_by(exchanges.c.number)
    rows = connection.execute(statement).mappings()
    return [of_row(Exchange, row, messages=tuple(row["messages"])) for row in rows]


def count_before(connection: Connection, before: datetime) -> int:
    statement = select(func.count()).select_from(exchanges).where(exchanges.c.created_at < before)
    return connection.execute(statement).scalar_one()


def delete_before(connection: Connection, before: datetime, at_most: int) -> int:
    """Returns how many were deleted."""
    oldest = select(exchanges.c.turn_id, exchanges.c.number).where(exchanges.c.created_at < before)
    some = oldest.order_by(exchanges.c.created_at).limit(at_most).with_for_update(skip_locked=True).cte()
    gone = delete(exchanges).where(exchanges.c.turn_id == some.c.turn_id, exchanges.c.number == some.c.number)
    return connection.execute(gone).rowcount
