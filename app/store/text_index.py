"""Fills the index of the words of turns (docs/decisions/0010-search-in-texts.md).

A pass takes the debates that have changed since the last one and have been quiet for a moment, and adds the turns that
are not indexed yet. Until then a search reads their texts (`app.store.search`).
"""

from datetime import datetime, timedelta

import psycopg

from app.store.engine import Engine

PASS_EVERY_SECONDS = 5.0
QUIET_SECONDS = 5.0
"""A debate that has just changed is not indexed: the foreign key would lock its row while its next turn is stored."""
LATE_SECONDS = 60.0
"""`updated_at` is set before the commit: a change that commits within this time is still found."""
DEBATES_AT_ONCE = 1_000
TURNS_AT_ONCE = 500
"""In one statement, so that it is short."""

_BEGIN = """
INSERT INTO text_index (indexed_until, next_pass_at)
VALUES ('epoch', clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (is_only_row) DO UPDATE SET next_pass_at = excluded.next_pass_at
WHERE text_index.next_pass_at <= clock_timestamp()
RETURNING clock_timestamp()
"""
# The turns of a debate are added in their order, so that its last indexed one says which are missing.
_ADD = f"""
WITH changed AS MATERIALIZED (
    SELECT id, turn_count, updated_at FROM debates
    WHERE updated_at > (SELECT coalesce(%(since)s::timestamptz, indexed_until) FROM text_index)
      AND updated_at < clock_timestamp() - interval '{QUIET_SECONDS} seconds'
    ORDER BY updated_at FETCH FIRST {DEBATES_AT_ONCE} ROWS WITH TIES
), missing AS MATERIALIZED (
    SELECT turns.debate_id, turns.seq, turns.content
    FROM changed
    CROSS JOIN LATERAL (
        SELECT coalesce(max(seq), 0) AS last_seq FROM indexed_turns WHERE debate_id = changed.id
    ) AS indexed
    JOIN turns ON turns.debate_id = changed.id AND turns.seq > indexed.last_seq
    WHERE changed.turn_count > indexed.last_seq
    ORDER BY changed.updated_at, turns.debate_id, turns.seq LIMIT {TURNS_AT_ONCE}
), added AS (
    INSERT INTO indexed_turns (debate_id, seq, words)
    SELECT debate_id, seq, strip(turn_words(content)) FROM missing
    ON CONFLICT DO NOTHING
)
SELECT (SELECT count(*) FROM changed), (SELECT max(updated_at) FROM changed), (SELECT count(*) FROM missing)
"""  # noqa: S608 (only constants are put in)
_INDEXED_UNTIL = "UPDATE text_index SET indexed_until = greatest(indexed_until, %s)"


def index_new_turns(engine: Engine) -> int:
    """One pass, unless another worker has just begun one; returns how many turns it added."""
    with engine.autocommit() as connection:
        begun = connection.execute(_BEGIN, [PASS_EVERY_SECONDS]).fetchone()
    return _pass(engine, begun[0]) if begun else 0


def _pass(engine: Engine, began: datetime) -> int:
    since: datetime | None = None
    added: int = 0
    latest = began - timedelta(seconds=LATE_SECONDS)
    while True:
        # A connection for each statement: a first pass over a large database takes minutes.
        with engine.autocommit() as connection:
            try:
                [(debates, last_change, turns)] = connection.execute(_ADD, {"since": since}).fetchall()
            except psycopg.errors.ForeignKeyViolation:
                # One of the debates was deleted meanwhile: the next statement does not see it.
                continue
            added += turns
            if turns == TURNS_AT_ONCE:
                continue
            since = last_change if debates >= DEBATES_AT_ONCE else None
            connection.execute(_INDEXED_UNTIL, [min(since, latest) if since else latest])
        if since is None:
            return added
