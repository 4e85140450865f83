"""The budget of an experiment: each call reserves its maximum cost first."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, text

_RESERVE = text("""
WITH fits AS (
    UPDATE experiments SET reserved_usd = reserved_usd + :amount
    WHERE id = :experiment_id AND (budget_usd IS NULL OR reserved_usd + spent_usd + :amount <= budget_usd)
    RETURNING id
)
INSERT INTO reservations (id, experiment_id, worker_id, amount_usd)
SELECT :id, id, :worker_id, :amount FROM fits RETURNING id
""")
_RECORD = text("""
WITH gone AS (
    DELETE FROM reservations WHERE id = :id RETURNING experiment_id, amount_usd
)
UPDATE experiments SET reserved_usd = greatest(0, reserved_usd - gone.amount_usd), spent_usd = spent_usd + :spent
FROM gone WHERE experiments.id = gone.experiment_id
""")
# A dead worker's call may have been billed: it counts, so that the budget is never exceeded.
_LOSE = text("""
WITH gone AS (
    DELETE FROM reservations WHERE worker_id = ANY(:worker_ids) RETURNING experiment_id, amount_usd
), sums AS (
    SELECT experiment_id, sum(amount_usd) AS amount FROM gone GROUP BY experiment_id
)
UPDATE experiments SET reserved_usd = greatest(0, reserved_usd - sums.amount), spent_usd = spent_usd + sums.amount
FROM sums WHERE experiments.id = sums.experiment_id
""")


@dataclass(frozen=True, slots=True)
class BudgetRefused:
    """The experiment's budget does not allow this call."""

    is_spent: bool
    """Otherwise it is only reserved by calls in flight, and most of it will be released."""
    budget_usd: float


def reserve(
    connection: Connection, reservation_id: UUID, experiment_id: UUID, worker_id: str, amount: float
) -> BudgetRefused | None:
    """None when it is reserved, or when the experiment is gone."""
    given = {"id": reservation_id, "experiment_id": experiment_id, "worker_id": worker_id, "amount": amount}
    if connection.execute(_RESERVE, given).first() is not None:
        return None
    query = text("SELECT spent_usd, budget_usd FROM experiments WHERE id = :experiment_id")
    row = connection.execute(query, {"experiment_id": experiment_id}).one_or_none()
    return None if row is None else BudgetRefused(row[0] + amount > row[1], row[1])


def record(connection: Connection, reservation_id: UUID, spent: float) -> None:
    """Nothing where the reservation was lost with its worker's lease: it counts as spent already."""
    connection.execute(_RECORD, {"id": reservation_id, "spent": spent})


def lose(connection: Connection, worker_ids: Sequence[str]) -> None:
    """The reservations of workers whose lease has ended."""
    connection.execute(_LOSE, {"worker_ids": list(worker_ids)})
