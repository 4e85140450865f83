"""The plan of an experiment, written in parts by one process at a time. Another one continues if it dies."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, select, text, update

from app.core.experiments.plan import Match, MotionCount, PlannedMotion
from app.store.engine import Engine, driver_of
from app.store.experiments.tables import experiments, matches, motions
from app.store.statements import Prepared, count

CLAIM_SECONDS = 10
"""After so long without a part from the process that writes a plan, another one may write it."""
_UNTIL = f"clock_timestamp() + interval '{CLAIM_SECONDS} seconds'"
_CLAIM = Prepared(f"""
UPDATE experiments SET planner_until = {_UNTIL}
WHERE id = %(experiment_id)s AND planning IS NOT NULL AND status IN ('running', 'paused')
  AND coalesce(planner_until <= clock_timestamp(), true)
RETURNING planning
""")  # noqa: S608 (only constants are put in)
# By status, because the index has it before the position.
_LAST = text("""
SELECT coalesce(max(last), 0) FROM unnest(ARRAY['planned', 'running', 'completed', 'failed']) AS known (status)
CROSS JOIN LATERAL (
    SELECT max(position) AS last FROM matches
    WHERE matches.experiment_id = :experiment_id AND matches.status = known.status
) AS of_status
""")
_COLUMNS = ("experiment_id", "key", "position", *Match.__slots__)
_COPY = f"COPY matches ({', '.join(_COLUMNS)}) FROM STDIN"


# Lists are one parameter, however long they are: thousands of parameters take seconds to be prepared.
_KNOWN = text("SELECT key FROM matches WHERE experiment_id = :experiment_id AND key = ANY(CAST(:keys AS text[]))")
_STORED = text("SELECT id FROM motions WHERE experiment_id = :experiment_id AND id = ANY(CAST(:ids AS text[]))")


def new_motions(connection: Connection, experiment_id: UUID, given: Sequence[PlannedMotion]) -> list[PlannedMotion]:
    """Those of them that are not stored."""
    ids = {"experiment_id": experiment_id, "ids": [motion.id for motion in given]}
    known = set(connection.execute(_STORED, ids).scalars()) if given else set()
    return [motion for motion in given if motion.id not in known]


def count_motions(connection: Connection, experiment_id: UUID, new: Sequence[PlannedMotion] = ()) -> MotionCount:
    """With those that would be added."""
    query = select(func.count(), func.count(motions.c.answer_a)).where(motions.c.experiment_id == experiment_id)
    stored, with_answers = connection.execute(query).one()
    return MotionCount(stored + len(new), with_answers + sum(motion.has_answers for motion in new))


def count_matches(connection: Connection, experiment_id: UUID) -> int:
    return count(connection, select(matches.c.key).where(matches.c.experiment_id == experiment_id))


def motions_of(connection: Connection, experiment_id: UUID) -> list[PlannedMotion]:
    """In the order in which they came, without their texts."""
    query = (
        select(motions.c.id, motions.c.answer_a.is_not(None))
        .where(motions.c.experiment_id == experiment_id)
        .order_by(motions.c.position)
    )
    return [PlannedMotion(*row) for row in connection.execute(query)]


def begin(connection: Connection, experiment_id: UUID, token: UUID, is_claimed: bool) -> None:
    """Asks for the plan. `is_claimed`: this process writes it."""
    _change(connection, experiment_id, planning=token, planner_until=text(_UNTIL) if is_claimed else None)


def claim(engine: Engine, experiment_id: UUID) -> UUID | None:
    """The start whose plan this process writes from now on; None where there is none to write."""
    with engine.autocommit() as connection:
        row = _CLAIM.run(connection, {"experiment_id": experiment_id}).fetchone()
    return row[0] if row else None


def renew(connection: Connection, experiment_id: UUID) -> None:
    _change(connection, experiment_id, planner_until=text(_UNTIL))


def end(connection: Connection, experiment_id: UUID) -> None:
    _change(connection, experiment_id, planning=None, planner_until=None)


def _change(connection: Connection, experiment_id: UUID, **values: Any) -> None:
    connection.execute(update(experiments).where(experiments.c.id == experiment_id).values(values))


def copy_rows(experiment_id: UUID, part: Iterable[Match]) -> list[tuple[str, str, str]]:
    """Of each match: its key, and its row for COPY before and after the position. Runs in a thread."""
    return [
        (
            match.key,
            f"{experiment_id}\t{_text(match.key)}\t",
            "\t" + "\t".join(_text(getattr(match, name)) for name in Match.__slots__) + "\n",
        )
        for match in part
    ]


def _text(value: str | int | None) -> str:
    if value is None:
        return r"\N"
    escaped = str(value).replace("\\", r"\\").replace("\t", r"\t")
    return escaped.replace("\n", r"\n").replace("\r", r"\r")


def add(connection: Connection, experiment_id: UUID, rows: Sequence[tuple[str, str, str]]) -> int:
    """Those of a part that are not there yet, in one COPY; returns how many. The experiment must be locked."""
    given = {"experiment_id": experiment_id, "keys": [key for key, _, _ in rows]}
    known = set(connection.execute(_KNOWN, given).scalars())
    new = [(before, after) for key, before, after in rows if key not in known]
    if not new:
        return 0
    last = connection.execute(_LAST, {"experiment_id": experiment_id}).scalar_one()
    lines = "".join(f"{before}{position}{after}" for position, (before, after) in enumerate(new, last + 1))
    with driver_of(connection) as driver, driver.cursor() as cursor, cursor.copy(_COPY) as copy:
        copy.write(lines)
    return len(new)
