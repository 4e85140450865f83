"""What interrupts the matches of an experiment: a stop, a failure, a deletion of a debate; and how they continue.

Locks are taken in this order: the experiment, its matches, their debates.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection, func, select, text, update

from app.store.engine import Engine
from app.store.experiments.tables import judgments, matches
from app.store.statements import Prepared
from app.store.tables import debates

DELETED = "The debate was deleted."
"""The reason of a match whose debate is gone."""


def pause_judgments(connection: Connection, experiment_id: UUID) -> None:
    """Keeps workers from reading past them. Judgments in flight are finished."""
    waiting = (judgments.c.experiment_id == experiment_id, judgments.c.status == "planned")
    connection.execute(update(judgments).where(*waiting, judgments.c.claim_token.is_(None)).values(due_at=None))


def resume_judgments(connection: Connection, experiment_id: UUID) -> None:
    """Also those that were postponed."""
    waiting = (judgments.c.experiment_id == experiment_id, judgments.c.status == "planned")
    now = func.clock_timestamp()
    is_later = judgments.c.due_at.is_(None) | (judgments.c.due_at > now)
    statement = update(judgments).where(*waiting, judgments.c.claim_token.is_(None), is_later)
    connection.execute(statement.values(due_at=now))


STOPPED = "The experiment was stopped."
"""The reason of an interrupted match."""
IN_FLIGHT = ("created", "running")
_INTERRUPT = text("""
UPDATE matches SET interrupted = true, reason = :stopped FROM debates
WHERE matches.experiment_id = :experiment_id AND matches.status = 'running' AND debates.id = matches.debate_id
  AND debates.status IN ('created', 'running')
""")
_UNFINISHED = Prepared("""
SELECT DISTINCT experiments.id FROM experiments
JOIN matches ON matches.experiment_id = experiments.id AND matches.status = 'running' AND matches.interrupted
JOIN debates ON debates.id = matches.debate_id
WHERE experiments.status IN ('running', 'paused')
   OR experiments.status = 'stopped' AND debates.status IN ('created', 'running')
""")


def interrupt_matches(connection: Connection, experiment_id: UUID) -> None:
    """Marks those in progress as interrupted, so that another process can finish the stop if this one dies."""
    connection.execute(_INTERRUPT, {"experiment_id": experiment_id, "stopped": STOPPED})


def interrupted(connection: Connection, experiment_id: UUID, statuses: Sequence[str] | None = None) -> list[UUID]:
    """The debates of the matches that a stop has marked; those with these statuses."""
    query = (
        select(debates.c.id)
        .join(matches, matches.c.debate_id == debates.c.id)
        .where(matches.c.experiment_id == experiment_id, matches.c.status == "running", matches.c.interrupted)
    )
    if statuses is not None:
        query = query.where(debates.c.status.in_(statuses))
    return list(connection.execute(query).scalars())


def lock_interrupted(connection: Connection, debate_id: UUID) -> bool:
    """Whether a stop has marked the match of this debate; locks the match. Call it before the debate is locked."""
    query = select(matches.c.interrupted).where(matches.c.debate_id == debate_id, matches.c.status == "running")
    return bool(connection.execute(query.with_for_update()).scalar_one_or_none())


def continue_match(connection: Connection, debate_id: UUID) -> None:
    """Its debate continues."""
    connection.execute(update(matches).where(matches.c.debate_id == debate_id).values(interrupted=False, reason=None))


def unfinished(engine: Engine) -> list[UUID]:
    """Experiments that were stopped with debates not paused yet, or restarted with debates not resumed yet."""
    with engine.autocommit() as connection:
        return [row[0] for row in _UNFINISHED.run(connection, {})]


_LOCK_OF = text("""
SELECT experiments.id FROM matches JOIN experiments ON experiments.id = matches.experiment_id
WHERE matches.debate_id = :debate_id FOR UPDATE OF experiments
""")
_REOPEN = text("""
WITH reopened AS (
    UPDATE matches SET status = 'running', interrupted = false, reason = NULL
    WHERE debate_id = :debate_id AND (status = 'failed' OR status = 'running' AND interrupted)
    RETURNING experiment_id
)
UPDATE experiments SET status = 'running', updated_at = clock_timestamp()
FROM reopened WHERE experiments.id = reopened.experiment_id AND experiments.status = 'completed'
""")


def reopen_match(connection: Connection, debate_id: UUID) -> None:
    """A person resumes its debate: its match, and a completed experiment, are running again. Call it before the debate
    is locked."""
    if connection.execute(_LOCK_OF, {"debate_id": debate_id}).one_or_none() is not None:
        connection.execute(_REOPEN, {"debate_id": debate_id})


_LOSE_DEBATES = text("""
UPDATE matches SET status = 'failed', reason = :deleted
WHERE debate_id = ANY(CAST(:debate_ids AS uuid[])) AND status = 'completed'
""")


def lose_debates(connection: Connection, debate_ids: Sequence[UUID]) -> None:
    """Marks the completed matches of deleted debates as failed: their judgments are gone with them."""
    connection.execute(_LOSE_DEBATES, {"debate_ids": list(debate_ids), "deleted": DELETED})


_RETRY = text("""
UPDATE matches SET status = 'planned', reason = NULL WHERE experiment_id = :experiment_id AND status = 'failed'
""")


def retry_failed(connection: Connection, experiment_id: UUID) -> int:
    """Plans the failed matches and judgments again; returns how many. A match keeps its debate: the feeder continues
    it, or makes another one."""
    count = connection.execute(_RETRY, {"experiment_id": experiment_id}).rowcount
    failed = (judgments.c.experiment_id == experiment_id, judgments.c.status == "failed")
    again = update(judgments).where(*failed).values(status="planned", attempts=0, due_at=func.clock_timestamp())
    return count + connection.execute(again).rowcount
