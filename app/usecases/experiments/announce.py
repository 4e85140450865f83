"""Tells the operators' feed that an experiment has changed."""

from uuid import UUID

from app.messaging.bus import Event
from app.store.experiments import experiments
from app.usecases.services import Services
from app.wire.experiments import experiment_json


def tell_changed(services: Services, experiment_id: UUID) -> None:
    with services.engine.statements() as connection:
        experiment = experiments.get(connection, experiment_id)
        if experiment is None:
            return
        progress = experiments.progress(connection, [experiment_id])[experiment_id]
    services.teller.publish(
        Event(experiment_id, "experiment_changed", {"experiment": experiment_json(experiment, progress)})
    )
