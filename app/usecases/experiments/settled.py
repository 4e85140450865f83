"""The debates of an experiment that was stopped are paused, and resumed when it goes on.

The stop marks their matches in its own transaction, so that the sweeper finishes what a dying process has left.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

import structlog

from app.core.access import OPERATOR, Caller
from app.core.errors import DebateError
from app.store.experiments import experiments, feed
from app.store.experiments.experiments import ExperimentStatus
from app.usecases import control
from app.usecases.services import Services

log = structlog.get_logger(__name__)
_GOES_ON = (ExperimentStatus.RUNNING, ExperimentStatus.PAUSED)


def settle_all(services: Services) -> None:
    """For the sweeper."""
    for experiment_id in feed.unsettled(services.engine):
        settle_debates(services, experiment_id)


def settle_debates(services: Services, experiment_id: UUID) -> None:
    with services.engine.statements() as connection:
        experiment = experiments.get(connection, experiment_id)
        if experiment is None:
            return
        status = experiment.status
        to_pause = feed.held(connection, experiment_id, feed.UNDER_WAY) if status is ExperimentStatus.STOPPED else []
        to_resume = feed.held(connection, experiment_id, ("paused",)) if status in _GOES_ON else []

    def pause(services: Services, caller: Caller, debate_id: UUID) -> None:
        """Unless it was started again while others were paused."""
        with services.engine.statements() as connection:
            now = experiments.get(connection, experiment_id)
        if now is not None and now.status is ExperimentStatus.STOPPED:
            control.pause_debate(services, caller, debate_id)

    each_debate(services, to_pause, pause)
    each_debate(services, to_resume, control.resume_debate)
    if status in _GOES_ON:
        with services.engine.begin() as connection:
            feed.forget_held(connection, experiment_id)


def each_debate(
    services: Services, debate_ids: Sequence[UUID], action: Callable[[Services, Caller, UUID], object]
) -> None:
    """A debate that refuses the action, because it has ended or was deleted, is skipped."""
    for debate_id in debate_ids:
        try:
            action(services, OPERATOR, debate_id)
        except DebateError as problem:
            log.info("experiment.debate_left_alone", debate_id=str(debate_id), reason=problem.message)
