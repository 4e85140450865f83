"""Turns in situations: as many as a long debate has, of any text, old."""

from harness import Place

from situations import rows

_AFTER_THE_LAST = """
INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player, parent_id)
SELECT gen_random_uuid(), last.debate_id, last.seq + number, last.seq + number, 'debater_b', 'CLAIM', content,
       'external', last.id
FROM (SELECT id, debate_id, seq FROM turns WHERE debate_id = %s ORDER BY seq DESC LIMIT 1) AS last,
     unnest(%s::text[]) WITH ORDINALITY AS said (content, number)
"""
_MOTIONS = """
INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)
SELECT gen_random_uuid(), id, 1, 0, 'debater_a', 'MOTION', %s, 'external'
FROM debates WHERE NOT EXISTS (SELECT FROM turns WHERE debate_id = debates.id)
"""


def append(place: Place, debate_id: object, contents: list[str]) -> None:
    """One turn each, with a round of its own. The cursor stays."""
    place.sql(_AFTER_THE_LAST, debate_id, contents)
    place.sql("UPDATE debates SET turn_count = turn_count + %s WHERE id = %s", len(contents), debate_id)


def add_motions(place: Place, content: str) -> None:
    """To every debate without turns."""
    place.sql(_MOTIONS, content)


def keep_only_the_first(place: Place, debate_id: object) -> None:
    place.sql("DELETE FROM turns WHERE debate_id = %s AND seq > 1", debate_id)


def age(place: Place, seq: int, seconds: float) -> None:
    """Every turn with this number was stored earlier."""
    rows.change(place, "turns", "created_at = created_at - make_interval(secs => %s)", seconds, seq, where="seq = %s")
