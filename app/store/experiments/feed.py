"""Feeding an experiment: its ended debates, and the next ones. The caller's transaction has locked the experiment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import Connection, select, text, update

from app.core.debate import Debate, Turn
from app.core.experiments.plan import Match
from app.core.judgments import Judge
from app.store import materials
from app.store.experiments.interruptions import DELETED
from app.store.experiments.orders import JOIN_ASKED, asked_keys
from app.store.experiments.tables import judgments, matches
from app.store.mapping import Mapped
from app.store.rows import debate_row, setup_row, turn_row
from app.store.statements import count

match_rows = Mapped(Match)
CREATED_BY = "experiment"
"""`debates.created_by` of a debate that a feeder made."""
# A stopped debate is not compared with a completed one.
_END = text(f"""
WITH ended AS (
    SELECT matches.key, debates.id, debates.status, debates.stop_reason, debates.last_error
    FROM matches LEFT JOIN debates ON debates.id = matches.debate_id
    WHERE matches.experiment_id = :experiment_id AND matches.status = 'running'
      AND (debates.id IS NULL OR debates.status IN ('completed', 'stopped', 'failed'))
)
UPDATE matches SET
    interrupted = false, status = CASE WHEN ended.status = 'completed' THEN 'completed' ELSE 'failed' END,
    reason = CASE WHEN ended.status = 'completed' THEN NULL
                  WHEN ended.id IS NULL THEN '{DELETED}'
                  WHEN ended.status = 'failed' THEN coalesce(ended.last_error, 'The debate failed.')
                  ELSE 'The debate was stopped (' || ended.stop_reason || ').' END
FROM ended WHERE matches.experiment_id = :experiment_id AND matches.key = ended.key
RETURNING matches.debate_id, matches.status
""")  # noqa: S608 (only constants are put in)
# A debate may be deleted meanwhile. Locked, it stays until its judgments are committed, or is not there.
_PLAN_JUDGMENTS = text(f"""
WITH ended AS MATERIALIZED (
    SELECT matches.experiment_id, matches.motion_id, matches.opponent, matches.debate_id, matches.position
    FROM matches JOIN debates ON debates.id = matches.debate_id
    WHERE matches.experiment_id = :experiment_id AND matches.status = 'completed' AND matches.position > :after
      AND (CAST(:debate_ids AS uuid[]) IS NULL OR matches.debate_id = ANY(CAST(:debate_ids AS uuid[])))
    ORDER BY matches.position LIMIT :limit FOR KEY SHARE OF debates
), added AS (
    INSERT INTO judgments (id, debate_id, judge, "order", repeat, through_round, setup, share, status, experiment_id,
                           due_at)
    SELECT gen_random_uuid(), matches.debate_id, asked.judge, asked."order", asked.repeat, parts.through_round,
           asked.setup, asked.share, 'planned', matches.experiment_id, clock_timestamp()
    FROM ended AS matches {JOIN_ASKED}
    ON CONFLICT ON CONSTRAINT judgments_one_per_key DO NOTHING RETURNING 1
)
SELECT (SELECT count(*) FROM added), (SELECT max(position) FROM ended)
""")  # noqa: S608 (only constants are put in)


@dataclass(frozen=True, slots=True)
class EndedMatches:
    completed: list[UUID]
    """Debates."""
    failed: int


def end_matches(connection: Connection, experiment_id: UUID) -> EndedMatches:
    """Marks the matches whose debate has ended."""
    rows = connection.execute(_END, {"experiment_id": experiment_id}).all()
    completed = [debate_id for debate_id, status in rows if status == "completed"]
    return EndedMatches(completed, len(rows) - len(completed))


@dataclass(frozen=True, slots=True)
class PlannedJudgments:
    new: int
    last: int | None
    """The position of the last match on this page; None where there was none."""


def plan_judgments(
    connection: Connection,
    experiment_id: UUID,
    judges: Sequence[Judge],
    debate_ids: Sequence[UUID] | None = None,
    after: int = 0,
    at_most: int | None = None,
) -> PlannedJudgments:
    """The missing ones of these debates, or of all; of `at_most` debates whose matches follow the position `after`."""
    if not judges:
        return PlannedJudgments(0, None)
    given = {
        "experiment_id": experiment_id,
        "keys": asked_keys(judges),
        "debate_ids": None if debate_ids is None else list(debate_ids),
        "after": after,
        "limit": at_most,
    }
    return PlannedJudgments(*connection.execute(_PLAN_JUDGMENTS, given).one())


def count_running(connection: Connection, experiment_id: UUID) -> int:
    running = (matches.c.experiment_id == experiment_id, matches.c.status == "running")
    return count(connection, select(matches.c.key).where(*running))


@dataclass(frozen=True, slots=True)
class NextMatch:
    match: Match
    debate_id: UUID | None
    """The debate of its last attempt, where it is retried."""


def next_planned(connection: Connection, experiment_id: UUID, at_most: int) -> list[NextMatch]:
    planned = (matches.c.experiment_id == experiment_id, matches.c.status == "planned")
    query = select(matches).where(*planned).order_by(matches.c.position).limit(at_most)
    rows = connection.execute(query).mappings()
    return [NextMatch(match_rows.value(row), row["debate_id"]) for row in rows]


def begin_again(connection: Connection, debate_ids: Sequence[UUID]) -> None:
    """Marks the matches of debates that are resumed."""
    again = update(matches).where(matches.c.debate_id.in_(debate_ids))
    connection.execute(again.values(status="running", reason=None))


def fail_match(connection: Connection, experiment_id: UUID, key: str, reason: str) -> None:
    """No debate could be made for it."""
    planned = update(matches).where(matches.c.experiment_id == experiment_id, matches.c.key == key)
    connection.execute(planned.values(status="failed", reason=reason))


def make_debates(
    connection: Connection,
    experiment_id: UUID,
    made: Sequence[tuple[Match, Debate, Turn]],
    documents: Iterable[str | None],
) -> None:
    """Writes the debates, due immediately, with their motions and documents, and marks their matches."""
    materials.note(connection, [each for each in documents if each is not None])
    rows = [
        {
            **debate_row(debate),
            **setup_row(debate),
            "created_by": CREATED_BY,
            "client_request_id": str(debate.id),
        }
        for _, debate, _ in made
    ]
    spoken = [turn_row(motion) for _, _, motion in made]
    for table, of_table in (("debates", rows), ("turns", spoken)):
        columns = ", ".join(f'"{name}"' for name in of_table[0])
        due = (", due_at", ", clock_timestamp()") if table == "debates" else ("", "")
        connection.exec_driver_sql(
            f"INSERT INTO {table} ({columns}{due[0]}) SELECT {columns}{due[1]}"  # noqa: S608 (names of columns)
            f" FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb)",
            (to_json(of_table).decode(),),
        )
    marked = [{"key": match.key, "debate_id": debate.id} for match, debate, _ in made]
    connection.execute(_MARK, {"experiment_id": experiment_id, "made": to_json(marked).decode()})


_MARK = text("""
UPDATE matches SET status = 'running', debate_id = made.debate_id, reason = NULL
FROM jsonb_to_recordset(CAST(:made AS jsonb)) AS made (key text, debate_id uuid)
WHERE matches.experiment_id = :experiment_id AND matches.key = made.key
""")


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
    """What each name meant when the first debate of the experiment was made."""
    found = named_prompts(connection, experiment_id, names)
    return {name: known for name, each in found.items() if (known := each.held or each.now) is not None}


def is_over(connection: Connection, experiment_id: UUID) -> bool:
    """Whether nothing is planned or running."""
    held = (matches.c.experiment_id == experiment_id, matches.c.status.in_(("planned", "running")))
    judged = (judgments.c.experiment_id == experiment_id, judgments.c.status == "planned")
    query = select(~select(matches.c.key).where(*held).exists(), ~select(judgments.c.id).where(*judged).exists())
    return all(connection.execute(query).one())
