"""The last day by hour: turns by player, failures, and how long turns have waited for a worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from app.core.events import EventKind
from app.store.ids import TIME_OF, first_id_at

# Ids of turns begin with their time, so the primary key finds those of a day. On a very busy server the limit leaves
# out the first hours, and the page says so.
_BY_HOUR = text("""
SELECT date_trunc('hour', created_at) AS hour, player, count(*) AS turns,
       coalesce(sum((usage ->> 'input_tokens')::bigint + (usage ->> 'output_tokens')::bigint), 0) AS tokens,
       coalesce(sum((usage ->> 'cost_usd')::double precision), 0) AS cost_usd
FROM (SELECT created_at, player, usage FROM turns WHERE id >= :first ORDER BY id DESC LIMIT :most) AS recent
GROUP BY 1, 2 ORDER BY 1, 2
""")
# Ids of events grow with time.
_FAILURES = text(f"""
SELECT date_trunc('hour', at) AS hour, count(*) AS failures
FROM (SELECT at, kind FROM debate_events ORDER BY id DESC LIMIT :most) AS recent
WHERE at >= :since AND kind = '{EventKind.ATTEMPT_FAILED}' GROUP BY 1
""")  # noqa: S608 (only constants are put in)
# A turn waits for a worker after the motion and after a turn from outside: until its claim, unless another event
# happened in between.
_DELAYS = text(f"""
WITH recent AS (
    SELECT debate_id, seq, created_at, {TIME_OF.format("claim")} AS claimed_at
    FROM (SELECT debate_id, seq, created_at, claim FROM turns WHERE id >= :first ORDER BY id DESC LIMIT :most) AS newest
    WHERE claim IS NOT NULL
), waited AS (
    SELECT recent.created_at, greatest(0, extract(epoch FROM claimed_at - before.created_at)) AS seconds
    FROM recent JOIN turns AS before ON before.debate_id = recent.debate_id AND before.seq = recent.seq - 1
    WHERE before.worker IS NULL AND before.id >= :first AND NOT EXISTS (
        SELECT FROM debate_events AS other
        WHERE other.debate_id = recent.debate_id AND other.at BETWEEN before.created_at AND recent.created_at
    )
)
SELECT date_trunc('hour', created_at) AS hour, percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) AS seconds
FROM waited GROUP BY GROUPING SETS ((date_trunc('hour', created_at)), ())
""")  # noqa: S608 (only constants are put in)


@dataclass(frozen=True, slots=True)
class HourOfPlayer:
    hour: datetime
    player: str
    turns: int
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Delays:
    """The 95th percentile of the seconds that turns have waited for a worker."""

    by_hour: dict[datetime, float]
    of_the_day: float | None


def by_hour(connection: Connection, since: datetime, most: int) -> Sequence[HourOfPlayer]:
    rows = connection.execute(_BY_HOUR, {"first": first_id_at(since), "most": most})
    return [HourOfPlayer(row.hour, row.player, row.turns, int(row.tokens), row.cost_usd) for row in rows]


def failures_by_hour(connection: Connection, since: datetime, most: int) -> dict[datetime, int]:
    """Attempts of players that failed."""
    rows = connection.execute(_FAILURES, {"since": since, "most": most})
    return {row.hour: row.failures for row in rows}


def delays(connection: Connection, since: datetime, most: int) -> Delays:
    rows = connection.execute(_DELAYS, {"first": first_id_at(since), "most": most}).all()
    found = {row.hour: float(row.seconds) for row in rows if row.seconds is not None}
    of_the_day = found.pop(None, None)
    return Delays(found, of_the_day)
