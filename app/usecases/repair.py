"""Recomputing every cursor from the turns."""

from app.store.repair import Repaired, repair_cursors
from app.usecases.services import Services


def repair(services: Services) -> list[Repaired]:
    with services.engine.begin() as connection:
        return repair_cursors(connection)
