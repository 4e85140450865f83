"""Recomputing every cursor from the turns."""

from app.store.repair import Repaired, repair_cursors
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict


@repeated_on_conflict
def repair(services: Services) -> list[Repaired]:
    with services.engine.begin() as connection:
        return repair_cursors(connection)
