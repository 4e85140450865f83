"""Evaluations of the guardrail in situations: claimed by a worker that died, due, settled. And a day's costs."""

from typing import Any
from uuid import UUID

from harness import Place

from situations import leases, rows

TABLE = "guardrail_evaluations"


def claim(place: Place, evaluation_id: str, seconds: float) -> None:
    """For a worker that died, whose lease ends this many seconds from now."""
    leases.add(place, "a dead worker", seconds)
    assignments = "claim_token = gen_random_uuid(), claimed_by = 'a dead worker', due_at = 'infinity'"
    rows.change(place, TABLE, assignments, UUID(evaluation_id), where="id = %s")


def make_due(place: Place, evaluation_id: str | None = None) -> None:
    """The pause before the next attempt is over, unless a worker is evaluating already."""
    which: tuple[Any, ...] = () if evaluation_id is None else (UUID(evaluation_id),)
    where = "verdict IS NULL AND claim_token IS NULL" + (" AND id = %s" if which else "")
    rows.change(place, TABLE, "due_at = clock_timestamp()", *which, where=where)


def approve_solutions(place: Place) -> None:
    """The solutions themselves are evaluated, so that no worker asks a model about them."""
    settled = "verdict = 'approved', evaluator = 'x', evaluated_at = now(), due_at = NULL"
    rows.change(place, TABLE, settled, where="solution_id IS NOT NULL")


def spend_today(place: Place, usd: float) -> None:
    place.sql(
        "INSERT INTO daily_costs (day, spent_usd) VALUES ((now() AT TIME ZONE 'UTC')::date, %s)"
        " ON CONFLICT (day) DO UPDATE SET spent_usd = excluded.spent_usd",
        usd,
    )


def flag_all(place: Place) -> None:
    """Every evaluation waits for a decision. The contributions are public all the same."""
    settled = "verdict = 'flagged', evaluator = 'x', evaluated_at = now(), due_at = NULL"
    rows.change(place, TABLE, settled)
    rows.change(place, "contributions", "guardrail_status = 'approved'")
