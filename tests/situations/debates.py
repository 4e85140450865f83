"""Debates in situations: past their deadline, due, old, failed, ended, damaged, many, long."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from harness import Place

from app.store.clock import now
from app.store.ids import first_id_at
from situations import rows

_DEBATES = """
INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, stop_reason, seats, share,
                     limits, turn_count, due_at, created_at, updated_at)
SELECT gen_random_uuid(), 'Debate number ' || number, 'general_debate', 'rounds', %(status)s, 2, 'debater_a',
       CASE %(status)s WHEN 'completed' THEN 'max_rounds' WHEN 'stopped' THEN 'manual_stop' END,
       '{"proposer": {"player": "scripted"}, "opponent": {"player": "scripted"}, "arbitrator": {"player": "scripted"}}',
       'scripted', '{"max_rounds": 3}', 1, CASE WHEN %(status)s IN ('created', 'running') THEN clock_timestamp() END,
       moment, moment
FROM (SELECT number, clock_timestamp() - make_interval(secs => number) AS moment
      FROM generate_series(1, %(count)s::int) AS number) AS made
"""
_TURNS = """
INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)
SELECT gen_random_uuid(), %(debate)s, seq, (seq + 1) / 3,
       (ARRAY['debater_a', 'debater_b', 'judge'])[1 + (seq - 2) %% 3],
       CASE (seq - 2) %% 3 WHEN 2 THEN 'RULING' ELSE 'CLAIM' END, 'Said as number ' || seq, 'scripted'
FROM generate_series(%(first)s::int, %(last)s::int) AS seq
"""


def pass_deadline(place: Place, debate_id: object = None) -> None:
    """The time of the debate, or of every debate, is over."""
    set_deadline(place, -1, debate_id)


def set_deadline(place: Place, seconds_from_now: float, debate_id: object = None) -> None:
    change(place, "deadline_at = clock_timestamp() + make_interval(secs => %s)", seconds_from_now, debate_id=debate_id)


def make_due(place: Place, debate_id: object = None, seconds_ago: float = 0) -> None:
    """For a claim: any retry that was scheduled is due too."""
    moment = "clock_timestamp() - make_interval(secs => %s)"
    change(
        place, f"due_at = {moment}, next_attempt_at = CASE WHEN next_attempt_at IS NOT NULL THEN {moment} END",
        seconds_ago, seconds_ago, debate_id=debate_id,
    )  # fmt: skip


def end_waits(place: Place) -> None:
    """Every debate that waits for a worker is due."""
    rows.change(place, "debates", "due_at = now()", where="claim_token IS NULL AND due_at IS NOT NULL")


def age(place: Place, seconds: float, debate_id: object = None) -> None:
    """The last activity was longer ago."""
    change(place, "updated_at = updated_at - make_interval(secs => %s)", seconds, debate_id=debate_id)


def fail(place: Place, debate_id: object = None, error: str = "No answer", attempts: int = 5) -> None:
    assignments = "status = 'failed', due_at = NULL, attempts = %s, last_error = %s"
    change(place, assignments, attempts, error, debate_id=debate_id)


def complete(place: Place, debate_id: object = None) -> None:
    change(place, "status = 'completed', stop_reason = 'max_rounds', due_at = NULL", debate_id=debate_id)


def damage_cursor(place: Place, debate_id: object = None, round_: int = 9, actor: str = "judge") -> None:
    """The cursor is no longer what the turns imply."""
    change(place, "next_round = %s, next_actor = %s", round_, actor, debate_id=debate_id)


def damage_seats(place: Place, debate_id: object = None) -> None:
    """Nothing is stored of who sits where."""
    change(place, "seats = '{}'", debate_id=debate_id)


def remove_turns(place: Place, debate_id: object) -> None:
    """Not even its motion is left."""
    place.sql("DELETE FROM turns WHERE debate_id = %s", UUID(str(debate_id)))


def store_twin(place: Place, debate_id: object, seq: int = 2, round_: int = 1, actor: str = "debater_a") -> None:
    """A turn that another process has stored, with the cursor left behind it."""
    turn = {"seq": seq, "round": round_, "actor": actor, "type": "CLAIM", "content": "stored by a twin"}
    rows.insert(place, "turns", id=uuid4(), debate_id=UUID(str(debate_id)), player="scripted", **turn)


def age_claim(place: Place, debate_id: object, seconds: float) -> UUID:
    """It was made longer ago, which its token says; returns that."""
    [(token,)] = place.sql("SELECT claim_token FROM debates WHERE id = %s", UUID(str(debate_id)))
    older = UUID(int=first_id_at(now() - timedelta(seconds=seconds)).int | token.int & 0xFFFF_FFFF)
    change(place, "claim_token = %s", older, debate_id=debate_id)
    return older


def spend_tokens(place: Place, tokens: int, debate_id: object = None) -> None:
    change(place, "input_tokens = %s", tokens, debate_id=debate_id)


def fill(place: Place, debates: int, status: str = "completed") -> None:
    """Many debates without turns, each a second older than the one before."""
    with place.session().cursor() as cursor:
        cursor.execute(_DEBATES, {"status": status, "count": debates})


def lengthen(place: Place, debate_id: object, turns: int) -> None:
    """A `rounds` debate with its motion only has this many turns afterwards, and the cursor that they imply."""
    with place.session().cursor() as cursor:
        cursor.execute(_TURNS, {"debate": debate_id, "first": 2, "last": turns})
    actor = ("debater_a", "debater_b", "judge")[(turns - 1) % 3]
    assignments = "turn_count = %s, next_round = %s, next_actor = %s"
    change(place, assignments, turns, (turns + 2) // 3, actor, debate_id=debate_id)


def leave_traces(place: Place, debate_id: object) -> None:
    """In the columns that a commit resets are values of something earlier."""
    traces = (
        "next_attempt_at = now(), attempts = 3, last_error = 'left over', stop_note = 'left over',"
        " missed_deadline = true, share = 'left over', updated_at = now() - interval '1 day'"
    )
    change(place, traces, debate_id=debate_id)


def remove_all(place: Place) -> None:
    place.sql("DELETE FROM debates")


def change(place: Place, assignments: str, *values: Any, debate_id: object = None) -> None:
    """One debate, or every one: for the verbs of this file, and for columns that one test alone sets."""
    if debate_id is None:
        rows.change(place, "debates", assignments, *values)
    else:
        rows.change(place, "debates", assignments, *values, UUID(str(debate_id)), where="id = %s")
