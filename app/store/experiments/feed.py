"""Feeding an experiment: which of its debates have ended, and which are made next. Each function is part of one
transaction that has locked the experiment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import Connection, func, select, text, update

from app.core.claims import share_of
from app.core.debate import Debate, Turn
from app.core.experiments.plan import Match
from app.core.judgments import Judge
from app.store import materials
from app.store.debates import setup_row
from app.store.engine import Engine
from app.store.experiments.tables import judgments, matches
from app.store.rows import debate_row, key_row, of_row, turn_row
from app.store.statements import Prepared
from app.store.tables import debates

CREATED_BY = "experiment"
"""`debates.created_by` of a debate that a feeder made."""
# A debate that was cut short is not compared with one that was held to its end.
_SETTLE = text("""
WITH ended AS (
    SELECT matches.key, debates.id, debates.status, debates.stop_reason, debates.last_error
    FROM matches LEFT JOIN debates ON debates.id = matches.debate_id
    WHERE matches.experiment_id = :experiment_id AND matches.status = 'running'
      AND (debates.id IS NULL OR debates.status IN ('completed', 'stopped', 'failed'))
)
UPDATE matches SET
    status = CASE WHEN ended.status = 'completed' THEN 'completed' ELSE 'failed' END,
    reason = CASE WHEN ended.status = 'completed' THEN NULL
                  WHEN ended.id IS NULL THEN 'The debate was deleted.'
                  WHEN ended.status = 'failed' THEN coalesce(ended.last_error, 'The debate failed.')
                  ELSE 'The debate was stopped (' || ended.stop_reason || ').' END
FROM ended WHERE matches.experiment_id = :experiment_id AND matches.key = ended.key
RETURNING matches.debate_id, matches.status
""")
_PLAN_JUDGMENTS = text("""
INSERT INTO judgments (id, debate_id, judge, "order", repeat, setup, share, status, experiment_id, due_at)
SELECT gen_random_uuid(), matches.debate_id, asked.judge, asked."order", asked.repeat, asked.setup, asked.share,
       'planned', matches.experiment_id, clock_timestamp()
FROM matches
CROSS JOIN jsonb_to_recordset(CAST(:keys AS jsonb))
    AS asked (judge text, "order" text, repeat integer, setup jsonb, share text)
WHERE matches.experiment_id = :experiment_id AND matches.status = 'completed'
  AND (CAST(:debate_ids AS uuid[]) IS NULL OR matches.debate_id = ANY(CAST(:debate_ids AS uuid[])))
ON CONFLICT ON CONSTRAINT judgments_one_per_key DO NOTHING
""")


@dataclass(frozen=True, slots=True)
class SettledMatches:
    completed: list[UUID]
    """Debates."""
    failed: int


def settle(connection: Connection, experiment_id: UUID) -> SettledMatches:
    """Marks the matches whose debate has ended."""
    rows = connection.execute(_SETTLE, {"experiment_id": experiment_id}).all()
    completed = [debate_id for debate_id, status in rows if status == "completed"]
    return SettledMatches(completed, len(rows) - len(completed))


def plan_judgments(
    connection: Connection, experiment_id: UUID, judges: Sequence[Judge], debate_ids: Sequence[UUID] | None = None
) -> int:
    """Of these debates, or of all that were held, those that are not there yet; returns how many."""
    keys = [
        {**key_row(key), "setup": judge.setup.as_json(), "share": share_of(judge.setup, of_experiment=True)}
        for judge in judges
        for key in judge.keys
    ]
    given = {
        "experiment_id": experiment_id,
        "keys": to_json(keys).decode(),
        "debate_ids": None if debate_ids is None else list(debate_ids),
    }
    return connection.execute(_PLAN_JUDGMENTS, given).rowcount


def count_running(connection: Connection, experiment_id: UUID) -> int:
    running = (matches.c.experiment_id == experiment_id, matches.c.status == "running")
    return connection.execute(select(func.count()).select_from(matches).where(*running)).scalar_one()


def next_planned(connection: Connection, experiment_id: UUID, at_most: int) -> list[tuple[Match, int]]:
    """Each with the number of its next attempt."""
    planned = (matches.c.experiment_id == experiment_id, matches.c.status == "planned")
    query = select(matches).where(*planned).order_by(matches.c.position).limit(at_most)
    return [(of_row(Match, row), row["attempt"] + 1) for row in connection.execute(query).mappings()]


def make_debates(
    connection: Connection,
    experiment_id: UUID,
    made: Sequence[tuple[Match, Debate, Turn]],
    documents: Sequence[str],
) -> None:
    """Writes the debates, due at once, with their motions and documents, and marks their matches."""
    materials.note(connection, documents)
    rows = [_debate_row(debate) for _, debate, _ in made]
    spoken = [turn_row(motion) for _, _, motion in made]
    for table, of_table in (("debates", rows), ("turns", spoken)):
        columns = ", ".join(f'"{name}"' for name in of_table[0])
        due = (", due_at, queued_at", ", clock_timestamp(), clock_timestamp()") if table == "debates" else ("", "")
        connection.exec_driver_sql(
            f"INSERT INTO {table} ({columns}{due[0]}) SELECT {columns}{due[1]}"  # noqa: S608 (names of columns)
            f" FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb)",
            (to_json(of_table).decode(),),
        )
    marked = [{"key": match.key, "debate_id": debate.id} for match, debate, _ in made]
    connection.execute(_MARK, {"experiment_id": experiment_id, "made": to_json(marked).decode()})


_MARK = text("""
UPDATE matches SET status = 'running', debate_id = made.debate_id, attempt = attempt + 1, reason = NULL
FROM jsonb_to_recordset(CAST(:made AS jsonb)) AS made (key text, debate_id uuid)
WHERE matches.experiment_id = :experiment_id AND matches.key = made.key
""")


def _debate_row(debate: Debate) -> dict[str, Any]:
    return {
        **debate_row(debate),
        **setup_row(debate),
        "experiment_id": debate.experiment_id,
        "prompts_hash": debate.prompts_hash,
        "created_by": CREATED_BY,
        "client_request_id": str(debate.id),
    }


_PROMPTS = text("""
SELECT name,
       (SELECT prompts_hash FROM debates
        WHERE experiment_id = :experiment_id AND prompts = asked.name AND prompts_hash IS NOT NULL LIMIT 1),
       (SELECT hash FROM prompt_sets WHERE prompt_sets.name = asked.name ORDER BY added_at DESC LIMIT 1)
FROM unnest(CAST(:names AS text[])) AS asked (name)
""")


@dataclass(frozen=True, slots=True)
class NamedPrompts:
    """The hashes of what a prompt set's name means."""

    held: str | None
    """In the debates of the experiment that are there already."""
    now: str | None
    """None where there is no set of that name."""


def named_prompts(connection: Connection, experiment_id: UUID, names: Sequence[str]) -> dict[str, NamedPrompts]:
    if not names:
        return {}
    rows = connection.execute(_PROMPTS, {"experiment_id": experiment_id, "names": list(names)})
    return {name: NamedPrompts(held, now) for name, held, now in rows}


def prompts_hashes(connection: Connection, experiment_id: UUID, names: Sequence[str]) -> dict[str, str]:
    """What each name means in this experiment: what it meant when its first debate was made, whatever was added under
    that name since."""
    found = named_prompts(connection, experiment_id, names)
    return {name: known for name, each in found.items() if (known := each.held or each.now) is not None}


def is_over(connection: Connection, experiment_id: UUID) -> bool:
    """Whether nothing is planned or under way."""
    held = (matches.c.experiment_id == experiment_id, matches.c.status.in_(("planned", "running")))
    judged = (judgments.c.experiment_id == experiment_id, judgments.c.status == "planned")
    query = select(~select(matches.c.key).where(*held).exists(), ~select(judgments.c.id).where(*judged).exists())
    return all(connection.execute(query).one())


def hold_judgments(connection: Connection, experiment_id: UUID) -> None:
    """Keeps workers from claiming them. Judgments under way are finished."""
    waiting = (judgments.c.experiment_id == experiment_id, judgments.c.status == "planned")
    connection.execute(update(judgments).where(*waiting, judgments.c.claim_token.is_(None)).values(due_at=None))


def release_judgments(connection: Connection, experiment_id: UUID) -> None:
    held = (judgments.c.experiment_id == experiment_id, judgments.c.status == "planned", judgments.c.due_at.is_(None))
    connection.execute(update(judgments).where(*held).values(due_at=func.clock_timestamp()))


HELD = "The experiment was stopped."
"""The reason of a running match whose debate is paused, or will be, because its experiment was stopped. Written with
the stop itself, so that another process can finish the stop where one died."""
UNDER_WAY = ("created", "running")
_HOLD = text("""
UPDATE matches SET reason = :held FROM debates
WHERE matches.experiment_id = :experiment_id AND matches.status = 'running' AND debates.id = matches.debate_id
  AND debates.status IN ('created', 'running')
""")
_RELEASED = text("""
UPDATE matches SET reason = NULL FROM debates
WHERE matches.experiment_id = :experiment_id AND matches.status = 'running' AND matches.reason = :held
  AND debates.id = matches.debate_id AND debates.status <> 'paused'
""")
_UNSETTLED = Prepared("""
SELECT DISTINCT experiments.id FROM experiments
JOIN matches ON matches.experiment_id = experiments.id AND matches.status = 'running' AND matches.reason = %(held)s
JOIN debates ON debates.id = matches.debate_id
WHERE experiments.status IN ('running', 'paused')
   OR experiments.status = 'stopped' AND debates.status IN ('created', 'running')
""")


def hold_matches(connection: Connection, experiment_id: UUID) -> None:
    """Marks those whose debates are under way."""
    connection.execute(_HOLD, {"experiment_id": experiment_id, "held": HELD})


def held(connection: Connection, experiment_id: UUID, statuses: Sequence[str]) -> list[UUID]:
    """Of the matches that a stop has marked, the debates with these statuses."""
    query = (
        select(debates.c.id)
        .join(matches, matches.c.debate_id == debates.c.id)
        .where(
            matches.c.experiment_id == experiment_id,
            matches.c.status == "running",
            matches.c.reason == HELD,
            debates.c.status.in_(statuses),
        )
    )
    return list(connection.execute(query).scalars())


def forget_held(connection: Connection, experiment_id: UUID) -> None:
    """Of those whose debates go on."""
    connection.execute(_RELEASED, {"experiment_id": experiment_id, "held": HELD})


def unsettled(engine: Engine) -> list[UUID]:
    """Experiments that were stopped with debates not paused yet, or restarted with debates not resumed yet."""
    with engine.autocommit() as connection:
        return [row[0] for row in _UNSETTLED.run(connection, {"held": HELD})]


_RETRY = text("""
UPDATE matches SET
    status = CASE WHEN EXISTS (SELECT FROM debates WHERE id = matches.debate_id AND status = 'failed')
                  THEN 'running' ELSE 'planned' END,
    debate_id = CASE WHEN EXISTS (SELECT FROM debates WHERE id = matches.debate_id AND status = 'failed')
                     THEN debate_id END,
    reason = NULL
WHERE experiment_id = :experiment_id AND status = 'failed'
RETURNING debate_id
""")


def retry_failed(connection: Connection, experiment_id: UUID) -> tuple[list[UUID], int]:
    """A match whose player failed goes on with its debate; one whose debate was stopped or deleted gets a new one.
    Returns the debates to resume, and how many matches and judgments are tried again."""
    rows = connection.execute(_RETRY, {"experiment_id": experiment_id}).all()
    failed = (judgments.c.experiment_id == experiment_id, judgments.c.status == "failed")
    again = update(judgments).where(*failed).values(status="planned", attempts=0, due_at=func.clock_timestamp())
    count = connection.execute(again).rowcount
    return [row[0] for row in rows if row[0] is not None], len(rows) + count
