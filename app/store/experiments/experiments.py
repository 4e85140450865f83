"""Experiments: their rows, their motions and their progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from typing import Any
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import Connection, Text, case, cast, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from app.core.experiments.motions import Motion
from app.core.experiments.spec import Spec, spec_of
from app.core.players import SeatSetup
from app.core.schedule_files import as_json, schedule_of_json
from app.core.schedules import BUILT_IN
from app.store.engine import Engine
from app.store.experiments.tables import experiments, judgments, matches, motions
from app.store.mapping import Mapped
from app.store.statements import Prepared
from app.store.tables import debates
from app.words.experiments import how_to_raise

_now = func.clock_timestamp()
_AT_WORK = Prepared("""
SELECT id, planning IS NOT NULL AND coalesce(planner_until <= clock_timestamp(), true) FROM experiments
WHERE status IN ('running', 'paused')
""")
FEED_LOCK = 0x5EB47E03
"""The class of the advisory locks of feeders. The row's own lock does not distinguish a feeder from a reservation."""
_FEED_LOCK = text("SELECT pg_try_advisory_xact_lock(CAST(:kind AS integer), hashtext(CAST(:experiment_id AS text)))")


PAGE_BYTES = 2**21
"""A page of the list ends with the spec that reaches this."""


class ExperimentStopReason(StrEnum):
    BUDGET = "budget"  # it refused a call
    MANUAL_STOP = "manual_stop"


class ExperimentStatus(StrEnum):
    DRAFT = "draft"  # its motions are still being sent, or it was not started
    RUNNING = "running"
    PAUSED = "paused"  # no new debates; running ones continue
    COMPLETED = "completed"  # everything that is planned was run and judged, or has failed
    STOPPED = "stopped"  # by a person or its budget; start resumes it


@dataclass(frozen=True)
class Experiment:
    id: UUID
    name: str
    status: ExperimentStatus
    stop_reason: ExperimentStopReason | None
    imported: bool
    """Its judgments were made elsewhere."""
    stated: dict[str, Any]
    """The spec as it was given."""
    formats: dict[str, dict[str, Any]] | None
    """The custom formats of its arms by name."""
    arbitrator: SeatSetup
    budget_usd: float | None
    concurrency: int
    reserved_usd: float
    spent_usd: float
    planning: UUID | None
    """The start whose plan is not written yet."""
    created_by: str
    started_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @cached_property
    def spec(self) -> Spec:
        """Lists do not read it: one with many pairs takes milliseconds."""
        return spec_of(
            self.stated, {**BUILT_IN, **{name: schedule_of_json(one) for name, one in (self.formats or {}).items()}}
        )

    @property
    def stop_note(self) -> str | None:
        """How to continue it, where its budget has stopped it."""
        if self.stop_reason is not ExperimentStopReason.BUDGET or self.budget_usd is None:
            return None
        return how_to_raise(self.budget_usd, self.spent_usd)


experiment_rows = Mapped(Experiment, stated="spec")


@dataclass(frozen=True, slots=True)
class Counts:
    planned: int = 0
    running: int = 0
    completed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    matches: Counts
    judgments: Counts


def add(
    connection: Connection,
    experiment_id: UUID,
    stated: Mapping[str, Any],
    spec: Spec,
    arbitrator: SeatSetup,
    created_by: str,
) -> bool:
    """False when this caller has an experiment of that name."""
    values = {
        "id": experiment_id,
        "name": spec.name,
        "created_by": created_by,
        "arbitrator": arbitrator.as_json(),
        **_of_spec(stated, spec),
    }
    statement = insert(experiments).values(values).on_conflict_do_nothing(constraint="experiments_one_per_name")
    return connection.execute(statement.returning(experiments.c.id)).first() is not None


def mark_imported(connection: Connection, experiment_id: UUID) -> None:
    touch(connection, experiment_id, imported=True, status=ExperimentStatus.COMPLETED.value)


def replace_spec(connection: Connection, experiment_id: UUID, stated: Mapping[str, Any], spec: Spec) -> None:
    touch(connection, experiment_id, **_of_spec(stated, spec))


def _of_spec(stated: Mapping[str, Any], spec: Spec) -> dict[str, Any]:
    custom = {arm.schedule.name: arm.schedule for arm in spec.arms if arm.schedule.name not in BUILT_IN}
    formats = {name: as_json(schedule) for name, schedule in custom.items()} or None
    return {"spec": dict(stated), "formats": formats, "budget_usd": spec.budget_usd, "concurrency": spec.concurrency}


def get(connection: Connection, experiment_id: UUID, lock: bool = False) -> Experiment | None:
    query = select(experiments).where(experiments.c.id == experiment_id)
    return experiment_rows.one_or_none(connection, query.with_for_update() if lock else query)


def lock_to_feed(connection: Connection, experiment_id: UUID) -> Experiment | None:
    """None where another feeder has locked it. Waits for reservations of its budget, which are short."""
    given = {"kind": FEED_LOCK, "experiment_id": experiment_id}
    if not connection.execute(_FEED_LOCK, given).scalar_one():
        return None
    return get(connection, experiment_id, lock=True)


def keep_status(connection: Connection, experiment_id: UUID) -> ExperimentStatus | None:
    """Its status, locked until this transaction ends; None if it was deleted. Reservations do not wait for this."""
    query = select(experiments.c.status).where(experiments.c.id == experiment_id)
    status = connection.execute(query.with_for_update(read=True, key_share=True)).scalar_one_or_none()
    return None if status is None else ExperimentStatus(status)


def owner_of(connection: Connection, experiment_id: UUID) -> str | None:
    """`created_by`; None where the experiment was deleted."""
    query = select(experiments.c.created_by).where(experiments.c.id == experiment_id)
    return connection.execute(query).scalar_one_or_none()


def get_named(connection: Connection, created_by: str, name: str, lock: bool = False) -> Experiment | None:
    query = select(experiments).where(experiments.c.created_by == created_by, experiments.c.name == name)
    return experiment_rows.one_or_none(connection, query.with_for_update() if lock else query)


def at_work(engine: Engine) -> dict[UUID, bool]:
    """The experiments whose debates need feeding, each with whether its plan waits for a process that writes it."""
    with engine.autocommit() as connection:
        return dict(_AT_WORK.run(connection, {}).fetchall())


def page(connection: Connection, after: tuple[datetime, UUID] | None, limit: int) -> tuple[list[Experiment], bool]:
    """By last change; and whether there are more. Fewer than `limit` where their specs are large."""
    query = select(experiments.c.id, func.octet_length(cast(experiments.c.spec, Text)))
    if after is not None:
        at, beyond = after
        same = (experiments.c.updated_at == at) & (experiments.c.id > beyond)
        query = query.where((experiments.c.updated_at < at) | same)
    order = (experiments.c.updated_at.desc(), experiments.c.id)
    sizes = connection.execute(query.order_by(*order).limit(limit + 1)).all()
    before = accumulate((size for _, size in sizes), initial=0)
    ids = [one for (one, _), bytes_before in zip(sizes[:limit], before, strict=False) if bytes_before < PAGE_BYTES]
    listed = select(experiments).where(experiments.c.id.in_(ids)).order_by(*order)
    return experiment_rows.all(connection, listed), len(ids) < len(sizes)


def set_status(
    connection: Connection,
    experiment_id: UUID,
    status: ExperimentStatus,
    stop_reason: ExperimentStopReason | None = None,
) -> None:
    started = {"started_at": func.coalesce(experiments.c.started_at, _now)}
    is_running = status is ExperimentStatus.RUNNING
    touch(connection, experiment_id, status=status.value, stop_reason=stop_reason, **(started if is_running else {}))


def touch(connection: Connection, experiment_id: UUID, **values: Any) -> None:
    """Changes it, or only when it was last active."""
    statement = update(experiments).where(experiments.c.id == experiment_id)
    connection.execute(statement.values(**values, updated_at=_now))


def remove(connection: Connection, experiment_id: UUID) -> None:
    connection.execute(delete(experiments).where(experiments.c.id == experiment_id))


def remove_debates(connection: Connection, experiment_id: UUID, at_most: int) -> list[tuple[UUID, UUID | None]]:
    """Deletes some of its debates; returns them, each with the claim that this ends."""
    some = select(debates.c.id).where(debates.c.experiment_id == experiment_id).limit(at_most)
    gone = delete(debates).where(debates.c.id.in_(some)).returning(debates.c.id, debates.c.claim_token)
    return [(row[0], row[1]) for row in connection.execute(gone)]


# Motions

motion_rows = Mapped(Motion)
_motion_row = motion_rows.writer(motion_rows.columns)
# One parameter, however many there are: thousands of them take seconds to be prepared, while the experiment is locked.
_ADD_MOTIONS = text("""
INSERT INTO motions SELECT * FROM jsonb_populate_recordset(NULL::motions, CAST(:rows AS jsonb))
ON CONFLICT DO NOTHING RETURNING id
""")


def add_motions(connection: Connection, experiment_id: UUID, new: Sequence[Motion]) -> int:
    """Those whose id is not there yet; returns how many. The experiment must be locked."""
    last = connection.execute(
        select(func.coalesce(func.max(motions.c.position), 0)).where(motions.c.experiment_id == experiment_id)
    ).scalar_one()
    if not new:
        return 0
    rows = [
        {"experiment_id": experiment_id, "position": position, **_motion_row(motion)}
        for position, motion in enumerate(new, last + 1)
    ]
    return len(connection.execute(_ADD_MOTIONS, {"rows": to_json(rows).decode()}).all())


def motions_of(connection: Connection, experiment_id: UUID, ids: Sequence[str] | None = None) -> list[Motion]:
    """In the order in which they came; all of them, or those with these ids."""
    query = select(motions).where(motions.c.experiment_id == experiment_id).order_by(motions.c.position)
    if ids is not None:
        query = query.where(motions.c.id.in_(ids))
    return motion_rows.all(connection, query)


def progress(connection: Connection, experiment_ids: Sequence[UUID]) -> dict[UUID, Progress]:
    by_match = _counted(connection, matches, experiment_ids, matches.c.status)
    is_running = (judgments.c.status == "planned") & judgments.c.claim_token.is_not(None)
    status = case((is_running, "running"), else_=judgments.c.status)
    by_judgment = _counted(connection, judgments, experiment_ids, status)
    return {
        one: Progress(Counts(**by_match.get(one, {})), Counts(**by_judgment.get(one, {}))) for one in experiment_ids
    }


def _counted(connection: Connection, table: Any, ids: Sequence[UUID], status: Any) -> dict[UUID, dict[str, int]]:
    query = (
        select(table.c.experiment_id, status, func.count())
        .where(table.c.experiment_id.in_(ids))
        .group_by(table.c.experiment_id, status)
    )
    found: dict[UUID, dict[str, int]] = {}
    for experiment_id, name, number in connection.execute(query):
        found.setdefault(experiment_id, {})[name] = number
    return found
