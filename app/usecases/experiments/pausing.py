"""Pauses the debates of an experiment that was stopped, and resumes them when it continues.

The stop marks their matches, so the sweeper finishes what a dying process has left. Each debate changes in one
transaction that locks the experiment's status: a concurrent start and stop leave no debate behind.
"""

from uuid import UUID

import structlog

from app.core import control as rules
from app.core.access import OPERATOR
from app.core.debate import ENDED_STATUSES
from app.core.errors import DebateError
from app.core.events import EventKind, NewEvent
from app.store.experiments import experiments, interruptions
from app.store.experiments.experiments import ExperimentStatus
from app.usecases import control
from app.usecases.services import Services
from app.usecases.transactions import lock_existing, repeated_on_conflict, transaction

log = structlog.get_logger(__name__)
_CONTINUES = (ExperimentStatus.RUNNING, ExperimentStatus.PAUSED)


def pause_or_resume_all(services: Services) -> None:
    for experiment_id in interruptions.unfinished(services.engine):
        pause_or_resume_debates(services, experiment_id)


def pause_or_resume_debates(services: Services, experiment_id: UUID) -> None:
    with services.engine.statements() as connection:
        experiment = experiments.get(connection, experiment_id)
        if experiment is None or experiment.status not in (ExperimentStatus.STOPPED, *_CONTINUES):
            return
        is_stopped = experiment.status is ExperimentStatus.STOPPED
        marked = interruptions.interrupted(connection, experiment_id, interruptions.IN_FLIGHT if is_stopped else None)
    for debate_id in marked:
        try:
            made = _pause_or_resume(services, experiment_id, debate_id)
        except DebateError as problem:
            # It has ended or was deleted.
            log.info("experiment.debate_left_alone", debate_id=str(debate_id), reason=problem.message)
            continue
        if made is not None:
            control.publish_change(services, made, OPERATOR.name)


@repeated_on_conflict
def _pause_or_resume(services: Services, experiment_id: UUID, debate_id: UUID) -> control.AppliedChange | None:
    with transaction(services, None, "control") as connection:
        status = experiments.keep_status(connection, experiment_id)
        is_stopped = status is ExperimentStatus.STOPPED
        if not interruptions.lock_interrupted(connection, debate_id) or not (is_stopped or status in _CONTINUES):
            return None
        debate = lock_existing(connection, debate_id)
        if is_stopped:
            event = NewEvent(EventKind.PAUSED, OPERATOR.name, {"now": False})
            return control.changed(connection, debate, rules.pause, event)
        interruptions.continue_match(connection, debate_id)
        if debate.status in ENDED_STATUSES:
            # The feeder updates its match.
            return None
        return control.changed(connection, debate, rules.resume, NewEvent(EventKind.RESUMED, OPERATOR.name))
