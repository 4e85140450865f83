"""The debates of an experiment that was stopped are paused, and resumed when it continues.

The stop marks their matches in its own transaction, so that the sweeper finishes what a dying process has left. Each
debate is paused or resumed in one transaction with its match, which keeps the experiment's status until its commit: a
start and a stop at the same time leave no debate behind.
"""

from uuid import UUID

import structlog

from app.core import control as rules
from app.core.access import OPERATOR
from app.core.debate import ENDED_STATUSES
from app.core.errors import DebateError
from app.core.events import EventKind, NewEvent
from app.store.engine import Connection
from app.store.experiments import experiments, interruptions
from app.store.experiments.experiments import ExperimentStatus
from app.usecases import control
from app.usecases.services import Services
from app.usecases.transactions import lock_existing, repeated_on_conflict, transaction

log = structlog.get_logger(__name__)
_CONTINUES = (ExperimentStatus.RUNNING, ExperimentStatus.PAUSED)


def settle_all(services: Services) -> None:
    """For the sweeper."""
    for experiment_id in interruptions.unfinished(services.engine):
        settle_debates(services, experiment_id)


def settle_debates(services: Services, experiment_id: UUID) -> None:
    with services.engine.statements() as connection:
        experiment = experiments.get(connection, experiment_id)
        if experiment is None or experiment.status not in (ExperimentStatus.STOPPED, *_CONTINUES):
            return
        is_stopped = experiment.status is ExperimentStatus.STOPPED
        marked = interruptions.interrupted(connection, experiment_id, interruptions.IN_FLIGHT if is_stopped else None)
    for debate_id in marked:
        try:
            made = _settle(services, experiment_id, debate_id)
        except DebateError as problem:
            # It has ended or was deleted.
            log.info("experiment.debate_left_alone", debate_id=str(debate_id), reason=problem.message)
            continue
        if made is not None:
            control.tell_changed(services, made, OPERATOR.name)


@repeated_on_conflict
def _settle(services: Services, experiment_id: UUID, debate_id: UUID) -> control.AppliedChange | None:
    """Pauses or resumes the debate, as the experiment's status says now."""
    with transaction(services, None, "control") as connection:
        status = experiments.keep_status(connection, experiment_id)
        if not interruptions.lock_interrupted(connection, debate_id):
            return None
        if status is ExperimentStatus.STOPPED:
            return _pause(connection, debate_id)
        return _resume(connection, debate_id) if status in _CONTINUES else None


def _pause(connection: Connection, debate_id: UUID) -> control.AppliedChange | None:
    debate = lock_existing(connection, debate_id)
    event = NewEvent(EventKind.PAUSED, OPERATOR.name, {"now": False})
    return control.changed(connection, debate, rules.pause, event)


def _resume(connection: Connection, debate_id: UUID) -> control.AppliedChange | None:
    """What has ended meanwhile stays so: the feeder settles its match."""
    debate = lock_existing(connection, debate_id)
    interruptions.continue_match(connection, debate_id)
    if debate.status in ENDED_STATUSES:
        return None
    return control.changed(connection, debate, rules.resume, NewEvent(EventKind.RESUMED, OPERATOR.name))
