"""Experiments whose judgments were made elsewhere: closed debates without a transcript, and their judgments."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import Connection, text

_DEBATES = text("""
WITH given AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
        debate_id uuid, turn_id uuid, key text, position integer, arm text, motion_id text, proposer text,
        opponent text, repeat integer, answer text)
), made AS (
    INSERT INTO debates (id, title, debate_type, format, status, stop_reason, next_round, next_actor, seats, limits,
                         turn_count, imported, experiment_id)
    SELECT debate_id, left(motion_id, 200), 'general_debate', 'final_ruling', 'completed', 'max_rounds', 1, 'judge',
           CAST(:seats AS jsonb), '{"max_rounds": 1}', 1, true, :experiment_id FROM given
), spoken AS (
    INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)
    SELECT turn_id, debate_id, 1, 0, 'debater_a', 'MOTION', motion_id, 'external' FROM given
)
INSERT INTO matches (experiment_id, key, position, arm, motion_id, proposer, opponent, repeat, answer, status,
                     debate_id)
SELECT :experiment_id, key, position, arm, motion_id, proposer, opponent, repeat, answer, 'completed', debate_id
FROM given
""")
_MOTIONS = text("""
INSERT INTO motions (experiment_id, id, position, motion, correct)
SELECT :experiment_id, id, position, id, correct
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (id text, position integer, correct text)
""")
_JUDGMENTS = text("""
INSERT INTO judgments (id, debate_id, judge, judge_kind, "order", repeat, through_round, setup, status, verdict,
                       cost_usd, experiment_id, judged_at)
SELECT gen_random_uuid(), debate_id, judge, judge_kind, "order", repeat, through_round, setup, 'completed', verdict,
       cost_usd, :experiment_id, judged_at
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
    debate_id uuid, judge text, judge_kind text, "order" text, repeat integer, through_round integer, setup jsonb,
    verdict jsonb, cost_usd double precision, judged_at timestamptz)
""")
_SEATS = to_json({role: {"player": "external"} for role in ("proposer", "opponent", "arbitrator")}).decode()
_STATEMENTS = {"motions": _MOTIONS, "debates": _DEBATES, "judgments": _JUDGMENTS}


def packed(rows: Sequence[dict[str, Any]]) -> str:
    return to_json(rows).decode()


def add(connection: Connection, experiment_id: UUID, kind: str, rows: str) -> None:
    """`rows` were packed. Motions come before debates, and these before judgments."""
    given = {"rows": rows, "experiment_id": experiment_id}
    connection.execute(_STATEMENTS[kind], {**given, "seats": _SEATS} if kind == "debates" else given)
