"""Debates as lists and searches meet them: of any standing and any moment, with verdicts, indexed."""

import json
from typing import Any

from harness import Place

from situations import rows

_PUT = """
INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, intervention_open, stop_reason,
                     seats, limits, turn_count, tags, updated_at)
SELECT gen_random_uuid(), %(title)s, %(debate_type)s, %(format)s, %(status)s, %(next_round)s, %(next_actor)s,
       %(intervention_open)s, CASE WHEN %(status)s IN ('completed', 'stopped') THEN 'manual_stop' END,
       '{"proposer": {"player": "external"}, "arbitrator": {"player": "external"}}'::jsonb
         || jsonb_build_object('opponent', %(opponent)s::jsonb), '{}', 1, %(tags)s::text[],
       coalesce(%(updated_at)s::timestamptz, clock_timestamp()) + number %% %(moments)s * interval '1 microsecond'
FROM generate_series(1, %(count)s) AS number
RETURNING id::text
"""
_OPERATION = """
INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, stop_reason, seats, limits,
                     turn_count, updated_at, claim_token, claimed_by, due_at)
SELECT gen_random_uuid(), 'Debate ' || number, 'general_debate', 'dialogue', status, 1, 'debater_b',
       CASE status WHEN 'completed' THEN 'ruling' END,
       '{"proposer": {"player": "scripted"}, "opponent": {"player": "scripted"},
         "arbitrator": {"player": "scripted"}}', '{}', 1, now() - number * interval '1 second',
       CASE WHEN claimed THEN gen_random_uuid() END, CASE WHEN claimed THEN 'a-worker' END,
       CASE WHEN claimed THEN 'infinity' WHEN status = 'running' THEN now() - interval '1 minute' END
FROM (SELECT number, number %% 1000 = 0 AS claimed,
             CASE WHEN number %% 10 = 0 THEN 'running' WHEN number %% 97 = 1 THEN 'failed' ELSE 'completed'
             END AS status
      FROM generate_series(1, %(count)s) AS number) AS wanted
"""
# Their ids say when they were made: an hour ago, one in a thousand just now.
_MOTIONS = """
INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)
SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint
                    - CASE row_number() OVER () % 1000 WHEN 0 THEN 1000 ELSE 3600000 END), 12, '0')
        || '7' || substr(md5(id::text), 1, 3) || '8' || substr(md5(id::text), 4, 15))::uuid,
       id, 1, 1, 'debater_a', 'MOTION', 'A motion', 'external'
FROM debates
"""
_COLUMNS = {
    "debate_type": "general_debate",
    "format": "dialogue",
    "status": "running",
    "next_round": 2,
    "next_actor": "debater_a",
    "intervention_open": False,
    "opponent": '{"player": "external"}',
    "tags": [],
    "updated_at": None,
    "moments": 1,
    "count": 1,
}


def put(place: Place, **columns: Any) -> list[str]:
    """The ids of `count` debates with these columns, which differ from each other by at most `moments` microseconds."""
    with place.session().cursor() as cursor:
        return [debate_id for (debate_id,) in cursor.execute(_PUT, {**_COLUMNS, **columns})]


def remove(place: Place, debate_ids: list[str]) -> None:
    """As a deletion whose event was lost."""
    place.sql("DELETE FROM debates WHERE id = ANY(%s::uuid[])", debate_ids)


def fill_as_in_operation(place: Place, count: int) -> None:
    """A tenth are due, one in a thousand is claimed and has spoken just now, some have failed, the others are over."""
    with place.session().cursor() as cursor:
        cursor.execute(_OPERATION, {"count": count})
        cursor.execute(_MOTIONS)


def change_titled(place: Place, title: str, assignments: str, *values: Any) -> None:
    """Of the debates with this title."""
    rows.change(place, "debates", assignments, *values, title, where="title = %s")


def decide(place: Place, title: str, winner: str) -> None:
    """The debates with this title have ended with a verdict."""
    verdict = {"winner": winner, "scores": {"proposer": 5, "opponent": 5}, "reasoning": "so", "scope": "debate"}
    ended = "status = 'completed', stop_reason = 'max_rounds', due_at = NULL, verdict = %s::jsonb"
    change_titled(place, title, ended, json.dumps(verdict))


def forget_text_index(place: Place) -> None:
    """No turn is indexed, and every debate is to be looked at again."""
    place.sql("TRUNCATE indexed_turns")
    rows.change(place, "text_index", "indexed_until = 'epoch'")


def expect_all(place: Place) -> None:
    """The next pass of the text index is due, and looks at every debate."""
    rows.change(place, "text_index", "indexed_until = 'epoch', next_pass_at = 'epoch'")


def allow_pass(place: Place) -> None:
    """The last pass of the text index was a while ago."""
    rows.change(place, "text_index", "next_pass_at = 'epoch'")


def believe_all_indexed(place: Place) -> None:
    rows.change(place, "text_index", "indexed_until = now()")


def index_as(place: Place, debate_id: object, words: str) -> None:
    """The index has these words of the debate's turns, whatever was said."""
    rows.change(place, "indexed_turns", "words = turn_words(%s)", words, debate_id, where="debate_id = %s")
