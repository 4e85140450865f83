"""Feeding: keeps at most `concurrency` of an experiment's debates under way.

A feeder makes the debates and marks their matches in one transaction that has locked the experiment. Workers feed when
one of its debates ends, and look once a second: a lost message costs a second, a killed worker nothing.
"""

from dataclasses import dataclass
from uuid import UUID

import structlog

from app.core.debate import Debate
from app.core.experiments.extension import judges_of
from app.observe import failpoints, metrics
from app.store.engine import Connection, ConnectionLost
from app.store.experiments import experiments, feed
from app.store.experiments.experiments import Experiment, ExperimentStatus
from app.usecases.announce import tell_changed
from app.usecases.experiments.held import debate_of
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)
MOST_MADE_AT_ONCE = 200
"""In one transaction."""


@dataclass(frozen=True, slots=True)
class Fed:
    made: int
    judgments: int
    is_more: bool
    """There is room for more debates than were made."""


NOTHING = Fed(0, 0, False)


def at_work(services: Services) -> list[UUID]:
    return experiments.at_work(services.engine)


@repeated_on_conflict
def feed_experiment(services: Services, experiment_id: UUID) -> Fed:
    """Does nothing if another worker has locked the experiment, or if it is neither running nor paused."""
    with services.engine.begin() as connection:
        experiment = experiments.lock_unless_locked(connection, experiment_id)
        if experiment is None or experiment.status not in (ExperimentStatus.RUNNING, ExperimentStatus.PAUSED):
            return NOTHING
        settled = feed.settle(connection, experiment_id)
        new_judgments = 0
        if settled.completed:
            judges = judges_of(experiment.spec)
            new_judgments = feed.plan_judgments(connection, experiment_id, judges, settled.completed)
        made: list[Debate] = []
        room = 0
        if experiment.status is ExperimentStatus.RUNNING:
            room = experiment.concurrency - feed.count_running(connection, experiment_id)
            made = _make(services, connection, experiment, min(room, MOST_MADE_AT_ONCE))
        is_over = not made and feed.is_over(connection, experiment_id)
        if is_over:
            experiments.set_status(connection, experiment_id, ExperimentStatus.COMPLETED)
        elif made or settled.completed or settled.failed:
            experiments.touch(connection, experiment_id)
        failpoints.reach("feed.before_commit", ConnectionLost)
    failpoints.reach("feed.after_commit", ConnectionLost)
    _tell(services, experiment_id, made, settled, is_over)
    return Fed(len(made), new_judgments, 0 < len(made) == MOST_MADE_AT_ONCE < room)


def _make(services: Services, connection: Connection, experiment: Experiment, at_most: int) -> list[Debate]:
    planned = feed.next_planned(connection, experiment.id, at_most) if at_most > 0 else []
    if not planned:
        return []
    wanted = {match.motion_id for match, _ in planned}
    motions = {motion.id: motion for motion in experiments.motions_of(connection, experiment.id, sorted(wanted))}
    prompts = feed.prompts_hashes(connection, experiment.id, experiment.spec.prompt_sets)
    made = [
        (match, *debate_of(services, experiment, match, motions[match.motion_id], attempt, prompts))
        for match, attempt in planned
    ]
    documents = [motion.document for motion in motions.values() if motion.document is not None]
    feed.make_debates(connection, experiment.id, made, documents)
    return [debate for _, debate, _ in made]


def _tell(
    services: Services, experiment_id: UUID, made: list[Debate], settled: feed.SettledMatches, is_over: bool
) -> None:
    metrics.matches.labels("running").inc(len(made))
    metrics.matches.labels("completed").inc(len(settled.completed))
    metrics.matches.labels("failed").inc(settled.failed)
    services.teller.enqueue(*(debate.id for debate in made))
    if is_over:
        log.info("experiment.completed", experiment_id=str(experiment_id))
    if is_over or made or settled.completed or settled.failed:
        tell_changed(services, experiment_id)
