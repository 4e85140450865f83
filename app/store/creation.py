"""A new debate and its motion in one statement, and so in one transaction and one trip to Postgres.

It writes the same columns as `debates.insert_debate` and `turns.insert_turns` after it; a test holds the two together.
As in `app.store.commit`, psycopg is spoken to directly.
"""

from dataclasses import replace

from psycopg.types.json import Jsonb
from pydantic_core import to_json

from app.core.debate import Debate, Turn
from app.ids import new_turn_id
from app.store.debates import setup_row
from app.store.engine import Engine
from app.store.looks import autocommit
from app.store.rows import debate_row, turn_row

_CREATE = """
WITH made AS (
    INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, seats, limits, turn_count,
                         due_at, queued_at)
    VALUES (%(id)s, %(title)s, %(debate_type)s, %(format)s, %(status)s, %(next_round)s, %(next_actor)s, %(seats)s,
            %(limits)s, %(turn_count)s,
            CASE WHEN %(is_queued)s THEN clock_timestamp() END, CASE WHEN %(is_queued)s THEN clock_timestamp() END)
    ON CONFLICT (id) DO NOTHING
    RETURNING id, created_at, updated_at
), spoken AS (
    INSERT INTO turns (id, debate_id, seq, round, actor, type, content, client_request_id, player)
    SELECT %(turn_id)s, id, %(seq)s, %(round)s, %(actor)s, %(type)s, %(content)s, %(client_request_id)s, %(player)s
    FROM made
    RETURNING created_at
)
SELECT made.created_at, made.updated_at, spoken.created_at FROM made, spoken
"""


def create(engine: Engine, debate: Debate, motion: Turn) -> tuple[Debate, Turn] | None:
    """Both as they are stored; None if the debate's id is taken. For whoever needs no look at anything else first."""
    stated = setup_row(debate)
    parameters = {
        **debate_row(debate),
        **turn_row(motion),
        **stated,
        "seats": Jsonb(stated["seats"], to_json),
        "limits": Jsonb(stated["limits"], to_json),
        "is_queued": debate.awaits_worker,
    }
    with autocommit(engine) as connection:
        # Its id again: the first connection is what tells this process the database's time.
        turn_id = new_turn_id()
        row = connection.execute(_CREATE, {**parameters, "turn_id": turn_id}).fetchone()
    if row is None:
        return None
    created_at, updated_at, spoken_at = row
    return debate.evolve(created_at=created_at, updated_at=updated_at), replace(
        motion, id=turn_id, created_at=spoken_at
    )
