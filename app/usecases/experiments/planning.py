"""Writes the plan of an experiment in parts, each a short transaction; another process continues after a kill.

The request of a start writes a small plan; workers write a large one, and its first debates begin with its first part.
Making the matches takes longer than storing them: it runs aside, with no transaction open.
"""

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

import structlog

from app.core.errors import InvalidInput
from app.core.experiments import plan as plans
from app.core.experiments.extension import judges_of
from app.core.experiments.plan import Match, MotionCount
from app.core.experiments.spec import Spec
from app.core.judgments import Judge
from app.observe import failpoints
from app.store.engine import Connection, ConnectionLost
from app.store.experiments import experiments, feed, planning
from app.store.experiments.experiments import ExperimentStatus
from app.store.experiments.feed import PlannedJudgments
from app.usecases.announce import publish_experiment
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)
MOST_MATCHES = 1_000_000
PART_MATCHES = 5_000
SMALL_PLAN = 4 * PART_MATCHES
_WORKING = (ExperimentStatus.RUNNING, ExperimentStatus.PAUSED)
Rows = list[tuple[str, str, str]]


def counted(spec: Spec, of: MotionCount, field: str) -> int:
    count = plans.count(spec, of)
    if count > MOST_MATCHES:
        raise InvalidInput(
            field, f"this plan has {count:,} matches for {of.motions:,} motions; the most are {MOST_MATCHES:,}"
        )
    return count


def write_if_unclaimed(services: Services, experiment_id: UUID, may_continue: Callable[[], bool]) -> None:
    token = planning.claim(services.engine, experiment_id)
    if token is not None:
        write(services, experiment_id, token, may_continue)


def write(
    services: Services, experiment_id: UUID, token: UUID, may_continue: Callable[[], bool] = lambda: True
) -> None:
    """Writes the plan of the start with this token, until the experiment is stopped, restarted or deleted."""
    with services.engine.statements() as connection:
        experiment = experiments.get(connection, experiment_id)
        motions = planning.motions_of(connection, experiment_id)
    if experiment is None:
        return
    parts = plans.parts(experiment.spec, motions, PART_MATCHES)
    matches = 0
    while rows := services.run_aside(lambda: _next_rows(experiment_id, parts)):
        added = _write_part(services, experiment_id, token, rows) if may_continue() else None
        if added is None:
            return
        if added:
            publish_experiment(services, experiment_id)
        matches += added
    judgments = _plan_judgments(services, experiment_id, token, experiment.spec)
    if judgments is None or not _finish(services, experiment_id, token):
        return
    log.info("experiment.planned", experiment_id=str(experiment_id), matches=matches, judgments=judgments)
    publish_experiment(services, experiment_id)


def _next_rows(experiment_id: UUID, parts: Iterator[list[Match]]) -> Rows:
    return planning.copy_rows(experiment_id, next(parts, ()))


@repeated_on_conflict
def _write_part(services: Services, experiment_id: UUID, token: UUID, rows: Rows) -> int | None:
    """How many of its matches are new; None where this plan is no longer wanted."""
    with services.engine.begin() as connection:
        if not _is_wanted(connection, experiment_id, token):
            return None
        added = planning.add(connection, experiment_id, rows)
        planning.renew(connection, experiment_id)
        failpoints.reach("plan.before_commit", ConnectionLost)
    failpoints.reach("plan.after_commit", ConnectionLost)
    return added


def _plan_judgments(services: Services, experiment_id: UUID, token: UUID, spec: Spec) -> int | None:
    """Those that finished debates lack. Returns how many; None where this plan is no longer wanted."""
    judges, rounds = judges_of(spec), max(arm.rounds or 1 for arm in spec.arms)
    of_a_debate = sum(len(judge.keys(True, rounds)) for judge in judges)
    at_once = PART_MATCHES // max(1, of_a_debate) or 1
    count, last = 0, 0
    while True:
        part = _plan_some_judgments(services, experiment_id, token, judges, last, at_once)
        if part is None:
            return None
        if part.last is None:
            return count
        count, last = count + part.new, part.last


@repeated_on_conflict
def _plan_some_judgments(
    services: Services, experiment_id: UUID, token: UUID, judges: Sequence[Judge], after: int, at_most: int
) -> PlannedJudgments | None:
    with services.engine.begin() as connection:
        if not _is_wanted(connection, experiment_id, token):
            return None
        planning.renew(connection, experiment_id)
        return feed.plan_judgments(connection, experiment_id, judges, after=after, at_most=at_most)


@repeated_on_conflict
def _finish(services: Services, experiment_id: UUID, token: UUID) -> bool:
    """False where this plan is no longer wanted."""
    with services.engine.begin() as connection:
        if not _is_wanted(connection, experiment_id, token):
            return False
        planning.end(connection, experiment_id)
        if feed.is_over(connection, experiment_id):
            experiments.set_status(connection, experiment_id, ExperimentStatus.COMPLETED)
        return True


def _is_wanted(connection: Connection, experiment_id: UUID, token: UUID) -> bool:
    """Locks the experiment."""
    experiment = experiments.get(connection, experiment_id, lock=True)
    return experiment is not None and experiment.planning == token and experiment.status in _WORKING
