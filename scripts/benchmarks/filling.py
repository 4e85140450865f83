"""Inserts finished debates directly into the tables: a million in minutes."""

import sys

from app.settings import Settings
from scripts.benchmarks.place import sql

MIXED = """CASE WHEN mod(number, 100) < 90 THEN 'completed' WHEN mod(number, 100) < 94 THEN 'stopped'
                WHEN mod(number, 100) < 96 THEN 'failed' WHEN mod(number, 100) < 98 THEN 'running'
                WHEN mod(number, 100) < 99 THEN 'created' ELSE 'paused' END"""
"""Most debates have ended; the number of others is constant."""
ENDED = "CASE WHEN mod(number, 100) < 96 THEN 'completed' ELSE 'stopped' END"
"""All debates have ended."""

ROWS = 6
"""Of each: itself, its title, and two turns with their words."""

# The moments are shuffled over the table.
_DEBATES = """
INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, stop_reason, seats, limits,
                     turn_count, verdict, due_at, created_at, updated_at)
SELECT gen_random_uuid(),
       CASE WHEN number = 50 THEN 'A lighthouse, 100%% ' WHEN mod(number, 100) = 0 THEN 'A harbour for '
            WHEN mod(number, 2) = 0 THEN 'More trams for ' ELSE 'Debate number ' END || number,
       CASE WHEN mod(number, 4) = 0 THEN 'coding_plan_debate' ELSE 'general_debate' END,
       CASE WHEN mod(number, 2) = 0 THEN 'dialogue' ELSE 'rounds' END,
       status, 1 + mod(number / 100, 2), (ARRAY['debater_a', 'debater_b', 'judge'])[1 + mod(number, 3)],
       CASE status WHEN 'completed' THEN 'max_rounds' WHEN 'stopped' THEN 'manual_stop' END,
       '{"proposer": {"player": "scripted"}, "opponent": {"player": "external"}, "arbitrator": {"player": "scripted"}}',
       '{"max_rounds": 3}', 10,
       CASE status WHEN 'completed' THEN '{"winner": "proposer", "scores": {"proposer": 7, "opponent": 6},
                                          "reasoning": "Clearer.", "scope": "debate"}'::jsonb END,
       CASE WHEN number < 1000 AND status IN ('created', 'running') THEN clock_timestamp() + interval '1 day' END,
       moment, moment
FROM (
    SELECT number, clock_timestamp() - make_interval(days => %s) - random() * interval '365 days' AS moment,
           {status} AS status
    FROM generate_series(1, %s) AS number
) AS made
"""
# Two turns of each debate, so that the words of texts are not those of the titles. Their ids begin with their time, as
# a worker's do: by it the turns of the last minute are counted. With fewer than a hundred frequent words, which no real
# texts have, Postgres would guess how many turns have a word and not look at its statistics.
_TURNS = """
INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player, created_at)
SELECT uuidv7(created_at - clock_timestamp()), id, seq, seq - 1, 'debater_a',
       CASE seq WHEN 1 THEN 'MOTION' ELSE 'CLAIM' END,
       CASE WHEN seq = 2 THEN 'An answer that says little'
            WHEN number = 50 THEN 'Light the lantern' WHEN mod(number, 100) = 0 THEN 'Build a quay'
            WHEN mod(number, 2) = 0 THEN 'The council should decide' ELSE 'Nobody should decide' END || ' ' || number
            || ' word' || mod(number, 401) || ' word' || mod(number / 401, 401) || ' word' || mod(seq * number, 397),
       'scripted', created_at
FROM (
    SELECT id, created_at, substring(title FROM '[0-9]+$')::int AS number
    FROM debates WHERE NOT EXISTS (SELECT FROM turns WHERE debate_id = debates.id)
) AS numbered, generate_series(1, 2) AS seq
"""
# What workers would do within minutes.
_WORDS = "INSERT INTO indexed_turns SELECT debate_id, seq, strip(turn_words(content)) FROM turns"
_INDEXED = (
    "INSERT INTO text_index (indexed_until, next_pass_at)"
    " VALUES (clock_timestamp() - interval '1 minute', clock_timestamp())"
)


def fill(settings: Settings, count: int, status: str, days_ago: int = 0) -> None:
    """Fill an empty database, the last of whose debates was active this many days ago, and analyze it."""
    print(f"  filling a database with {count:,} debates", file=sys.stderr)
    insert(settings, count, status, days_ago)
    # What autovacuum does a minute later.
    sql(settings, "VACUUM ANALYZE debates, debate_titles, turns, indexed_turns")


def insert(settings: Settings, count: int, status: str, days_ago: int = 0) -> None:
    """Insert debates, indexed turns and titles. Postgres keeps the statistics that it has."""
    sql(settings, _DEBATES.replace("{status}", status), days_ago, count)
    sql(settings, _TURNS)
    sql(settings, _WORDS)
    sql(settings, _INDEXED)
