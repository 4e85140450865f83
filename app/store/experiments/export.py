"""Rows of an experiment for results and exports. Exports are read page by page, without a connection in between."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, text

PAGE_MATCHES = 200

# Which side is right follows from the answer that the proposer defends. The export omits it before a debate is closed.
_CORRECT = """CASE WHEN motions.correct IS NULL THEN NULL
     WHEN motions.correct = matches.answer THEN 'proposer' ELSE 'opponent' END"""
# The format and the times of an imported debate are unknown.
_HERE = "NOT debates.imported"
_JUDGMENTS = f"""
SELECT judgments.id AS judgment_id, judgments.debate_id, matches.motion_id, matches.repeat AS repeat, matches.proposer,
       matches.opponent, judgments.judge, judgments.setup ->> 'player' AS player, judgments."order",
       judgments.verdict ->> 'winner' AS winner,
       (judgments.verdict #>> '{{scores,proposer}}')::float8 AS score_proposer,
       (judgments.verdict #>> '{{scores,opponent}}')::float8 AS score_opponent,
       (judgments.verdict ->> 'confidence')::float8 AS confidence, {_CORRECT} AS correct, judgments.cost_usd,
       judgments.judged_at AS created_at, matches.arm,
       judgments.through_round
"""
_FROM = """
FROM judgments JOIN matches
    ON matches.debate_id = judgments.debate_id AND matches.experiment_id = judgments.experiment_id
LEFT JOIN motions ON motions.experiment_id = matches.experiment_id AND motions.id = matches.motion_id
WHERE judgments.status = 'completed'
"""
# Of the speeches of these debates.
_SPOKEN = """
WITH spoken AS MATERIALIZED (
    SELECT turns.debate_id, sum(regexp_count(content, '\\S+')) FILTER (WHERE actor = 'debater_a') AS proposer_words,
           sum(regexp_count(content, '\\S+')) FILTER (WHERE actor = 'debater_b') AS opponent_words, max(round) AS rounds
    FROM turns JOIN matches ON matches.debate_id = turns.debate_id
    WHERE {which} AND turns.type = 'CLAIM' GROUP BY turns.debate_id
)
"""
_COLUMNS = """
judgment_id, shown.debate_id, motion_id, repeat, proposer, opponent, judge, player, "order", winner, score_proposer,
score_opponent, confidence, correct, cost_usd, created_at, arm
"""
_OF_EXPERIMENT, _OF_IDS = "matches.experiment_id = :experiment_id", "matches.debate_id = ANY(:ids)"


def _with_spoken(columns: str, which: str, order: str) -> str:
    return f"""
{_SPOKEN.format(which=which)}
SELECT {columns}, proposer_words, opponent_words, through_round, rounds
FROM ({_JUDGMENTS}, judgments.repeat AS judged_again {_FROM} AND {which})
    AS shown LEFT JOIN spoken ON spoken.debate_id = shown.debate_id
ORDER BY {order}
"""  # noqa: S608 (only constants are put in)


_RESULTS = text(
    _with_spoken(
        'shown.debate_id::text, motion_id, proposer, opponent, judge, winner, player, "order", judged_again,'
        " score_proposer, score_opponent, confidence, correct, arm",
        _OF_EXPERIMENT,
        "shown.judgment_id",
    )
)
_OF_DEBATES = {
    "judgments": text(_with_spoken(_COLUMNS, _OF_IDS, 'shown.debate_id, judge, "order", judged_again, through_round')),
    "debates": text(
        f"""
SELECT debates.id AS debate_id, matches.arm, matches.motion_id, matches.proposer, matches.opponent, matches.repeat,
       CASE WHEN debates.status IN ('completed', 'stopped') THEN {_CORRECT} END AS correct, matches.status,
       matches.reason, CASE WHEN {_HERE} THEN debates.format END AS format, debates.turn_count AS arguments,
       debates.verdict ->> 'winner' AS winner,
       debates.input_tokens, debates.output_tokens, debates.cost_usd,
       jsonb_path_query_array(debates.seats, '$.*.player') AS players,
       CASE WHEN {_HERE} THEN debates.created_at END AS created_at,
       CASE WHEN {_HERE} THEN debates.updated_at END AS updated_at
FROM debates JOIN matches ON matches.debate_id = debates.id
LEFT JOIN motions ON motions.experiment_id = matches.experiment_id AND motions.id = matches.motion_id
WHERE debates.id = ANY(:ids) ORDER BY matches.position
"""  # noqa: S608 (only constants are put in)
    ),
    "turns": text("""
SELECT turns.id AS argument_id, turns.debate_id, matches.motion_id, turns.seq, turns.round, turns.type,
       CASE turns.actor WHEN 'debater_a' THEN 'proposer' WHEN 'debater_b' THEN 'opponent' ELSE 'arbitrator' END AS role,
       CASE turns.actor WHEN 'debater_a' THEN matches.proposer WHEN 'debater_b' THEN matches.opponent END AS contestant,
       turns.player, turns.content, (turns.usage ->> 'input_tokens')::bigint AS input_tokens,
       (turns.usage ->> 'output_tokens')::bigint AS output_tokens, (turns.usage ->> 'cost_usd')::float8 AS cost_usd,
       (turns.usage ->> 'latency_ms')::bigint AS latency_ms, turns.created_at
FROM turns JOIN matches ON matches.debate_id = turns.debate_id
WHERE turns.debate_id = ANY(:ids) ORDER BY matches.position, turns.seq
"""),
}
_HELD = text("""
SELECT position, debate_id FROM matches
WHERE experiment_id = :experiment_id AND status = :status AND debate_id IS NOT NULL AND position > :after
ORDER BY position LIMIT :limit
""")
_SPENT = text("""
SELECT CASE turns.actor WHEN 'judge' THEN 'arbitrator' ELSE 'contestant' END AS role,
       CASE turns.actor WHEN 'debater_a' THEN matches.proposer WHEN 'debater_b' THEN matches.opponent END AS name,
       count(*), sum((usage ->> 'cost_usd')::float8), sum((usage ->> 'input_tokens')::bigint),
       sum((usage ->> 'output_tokens')::bigint), avg((usage ->> 'latency_ms')::float8) / 1000, max(player)
FROM turns JOIN matches ON matches.debate_id = turns.debate_id
WHERE matches.experiment_id = :experiment_id AND turns.type <> 'MOTION'
GROUP BY 1, 2
UNION ALL
SELECT 'judge', judge, count(*) FILTER (WHERE status = 'completed'), sum(cost_usd), sum(input_tokens),
       sum(output_tokens), avg(latency_ms) / 1000.0, max(setup ->> 'player')
FROM judgments WHERE experiment_id = :experiment_id GROUP BY judge
""")


# Attempts that failed, each with the seat whose turn it was. Of a judgment only their number is known.
_FAILED = text("""
SELECT CASE about ->> 'role' WHEN 'arbitrator' THEN 'arbitrator' ELSE 'contestant' END AS role,
       CASE about ->> 'role' WHEN 'proposer' THEN matches.proposer WHEN 'opponent' THEN matches.opponent END AS name,
       about ->> 'kind' AS kind, count(*)
FROM matches JOIN debate_events ON debate_events.debate_id = matches.debate_id
WHERE matches.experiment_id = :experiment_id AND debate_events.kind = 'attempt_failed' AND about ->> 'role' IS NOT NULL
GROUP BY 1, 2, 3
UNION ALL
SELECT 'judge', judge, 'failed', sum(attempts)::bigint FROM judgments
WHERE experiment_id = :experiment_id AND attempts > 0 GROUP BY judge
""")


_PROMPTS_USED = text("""
SELECT turns.prompts_hash FROM turns JOIN matches ON matches.debate_id = turns.debate_id
WHERE matches.experiment_id = :experiment_id AND turns.prompts_hash IS NOT NULL
UNION
SELECT prompts_hash FROM judgments WHERE experiment_id = :experiment_id AND prompts_hash IS NOT NULL
""")
_JUDGED_BETWEEN = text(f"""
SELECT CASE WHEN count(*) = count(judged_at) THEN min(judged_at) END,
       CASE WHEN count(*) = count(judged_at) THEN max(judged_at) END
{_FROM} AND matches.experiment_id = :experiment_id
""")
_STATE = text("""
SELECT concat_ws(' ',
    (SELECT row(updated_at, spent_usd)::text FROM experiments WHERE id = :experiment_id),
    (SELECT row(count(*), max(judged_at), sum(attempts), sum(cost_usd), sum(input_tokens + output_tokens))::text
     FROM judgments WHERE experiment_id = :experiment_id),
    (SELECT row(count(*), sum(turn_count), sum(cost_usd), sum(input_tokens + output_tokens), max(updated_at))::text
     FROM debates WHERE experiment_id = :experiment_id),
    (SELECT string_agg(status || n, ' ' ORDER BY status) FROM (
        SELECT status, count(*) AS n FROM matches WHERE experiment_id = :experiment_id GROUP BY status) AS counted))
""")


_BY_OTHERS = text("""
SELECT count(*) FROM judgments JOIN matches ON matches.debate_id = judgments.debate_id
WHERE matches.experiment_id = :experiment_id AND judgments.experiment_id IS NULL AND judgments.status = 'completed'
""")


def count_by_others(connection: Connection, experiment_id: UUID) -> int:
    """Judgments of its debates that count in nothing."""
    count: int = connection.execute(_BY_OTHERS, {"experiment_id": experiment_id}).scalar_one()
    return count


def state(connection: Connection, experiment_id: UUID) -> str:
    """Another text whenever anything has changed that results are computed from."""
    found: str = connection.execute(_STATE, {"experiment_id": experiment_id}).scalar_one()
    return found


def judgment_rows(connection: Connection, experiment_id: UUID) -> Sequence[tuple[Any, ...]]:
    """All of them, with the columns of `_RESULTS`, straight from the driver: there may be a hundred thousand."""
    found = connection.execute(_RESULTS, {"experiment_id": experiment_id})
    rows: Sequence[tuple[Any, ...]] = found.cursor.fetchall() if found.cursor else []
    found.close()
    return rows


def judged_between(connection: Connection, experiment_id: UUID) -> tuple[datetime | None, datetime | None]:
    """When its first and its last judgment were made; None where that of one is not known."""
    first, last = connection.execute(_JUDGED_BETWEEN, {"experiment_id": experiment_id}).one()
    return first, last


def prompts_used(connection: Connection, experiment_id: UUID) -> frozenset[str]:
    """The hashes of the prompts that the models of its debates and judgments were instructed with."""
    return frozenset(connection.execute(_PROMPTS_USED, {"experiment_id": experiment_id}).scalars())


def spent(connection: Connection, experiment_id: UUID) -> list[tuple[Any, ...]]:
    """(contestant, arbitrator or judge, name, calls, cost, tokens in and out, seconds a call, player)"""
    return [tuple(row) for row in connection.execute(_SPENT, {"experiment_id": experiment_id})]


def failed(connection: Connection, experiment_id: UUID) -> dict[tuple[str, str | None], dict[str, int]]:
    """(contestant, arbitrator or judge, name) → kind of failure → how many attempts."""
    found: dict[tuple[str, str | None], dict[str, int]] = {}
    for role, name, kind, count in connection.execute(_FAILED, {"experiment_id": experiment_id}):
        found.setdefault((role, name), {})[kind] = count
    return found


def debates_after(
    connection: Connection, experiment_id: UUID, status: str, after: int
) -> tuple[list[UUID], int | None]:
    """The debates of the next matches of this status, and where the page ends; None at the end."""
    given = {"experiment_id": experiment_id, "status": status, "after": after, "limit": PAGE_MATCHES}
    rows = connection.execute(_HELD, given).all()
    return [row[1] for row in rows], rows[-1][0] if rows else None


def rows_of(connection: Connection, what: str, debate_ids: Sequence[UUID]) -> list[Mapping[str, Any]]:
    return [dict(row) for row in connection.execute(_OF_DEBATES[what], {"ids": list(debate_ids)}).mappings()]
