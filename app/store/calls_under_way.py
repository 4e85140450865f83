"""Calls of models that have begun and whose outcome is not stored yet.

A call is recorded before it begins, under its claim and its worker's lease. The statement that stores its outcome
removes it (`app.store.commit`, `app.store.judgments`). What remains when the lease ends is charged with what was sent.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, delete, text

from app.core.debate import Usage
from app.store.tables import model_calls

# The lease is locked until the row is committed: the transaction that ends it sees the call, or no call begins.
_BEGIN = text("""
INSERT INTO model_calls (id, claim, worker_id, debate_id, judgment_id, input_tokens, cost_usd)
SELECT :id, :claim, worker_id, :debate_id, :judgment_id, :input_tokens, :cost_usd FROM worker_leases
WHERE worker_id = :worker_id AND expires_at > clock_timestamp() FOR KEY SHARE SKIP LOCKED
RETURNING id
""")
# The calls of every lease that has ended.
_LOSE = text("""
WITH lost AS (
    UPDATE model_calls SET charged_at = clock_timestamp()
    WHERE charged_at IS NULL AND NOT EXISTS (
        SELECT FROM worker_leases WHERE worker_leases.worker_id = model_calls.worker_id
    )
    RETURNING debate_id, judgment_id, input_tokens, cost_usd
), sums AS (
    SELECT debate_id, judgment_id, sum(input_tokens) AS input_tokens, sum(cost_usd) AS cost_usd
    FROM lost GROUP BY debate_id, judgment_id
), of_judgments AS (
    UPDATE judgments SET input_tokens = judgments.input_tokens + sums.input_tokens,
                         cost_usd = judgments.cost_usd + sums.cost_usd
    FROM sums WHERE judgments.id = sums.judgment_id
)
UPDATE debates SET input_tokens = debates.input_tokens + sums.input_tokens,
                   cost_usd = debates.cost_usd + sums.cost_usd
FROM sums WHERE debates.id = sums.debate_id
""")
# Kept for a day: by then its worker can no longer report the cost.
_FORGET = text("DELETE FROM model_calls WHERE charged_at < now() - interval '1 day'")


@dataclass(frozen=True, slots=True)
class Call:
    id: UUID
    claim: UUID
    debate_id: UUID | None
    judgment_id: UUID | None
    """Exactly one of the two is set: the debate or the judgment that pays for the call."""
    sent: Usage
    """Estimated from the prompt's length."""


def begin(connection: Connection, call: Call, worker_id: str) -> bool:
    """False, and nothing recorded, when the worker's lease is not live."""
    given = {
        "id": call.id,
        "claim": call.claim,
        "worker_id": worker_id,
        "debate_id": call.debate_id,
        "judgment_id": call.judgment_id,
        "input_tokens": call.sent.input_tokens,
        "cost_usd": call.sent.cost_usd,
    }
    return connection.execute(_BEGIN, given).first() is not None


def remove(connection: Connection, *, call_id: UUID | None = None, claim: UUID | None = None) -> Usage | None:
    """Removes one call, or those of a claim. Returns what was charged for them already; None if there was none."""
    chosen = model_calls.c.id == call_id if call_id else model_calls.c.claim == claim
    columns = (model_calls.c.charged_at, model_calls.c.input_tokens, model_calls.c.cost_usd)
    removed = connection.execute(delete(model_calls).where(chosen).returning(*columns)).all()
    if not removed:
        return None
    charged = [row for row in removed if row.charged_at is not None]
    return Usage(sum(row.input_tokens for row in charged), 0, sum(row.cost_usd for row in charged))


def lose(connection: Connection) -> None:
    """Charges the calls of leases that have ended."""
    connection.execute(_LOSE)
    connection.execute(_FORGET)
