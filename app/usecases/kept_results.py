"""A cache of experiments' results. Each entry holds the state of the data that it was computed from."""

import threading
from collections import OrderedDict
from typing import Any
from uuid import UUID

MOST_KEPT = 100
"""Experiments: more than a page of their list shows."""


class KeptResults:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[UUID, tuple[str, dict[str, Any]]] = OrderedDict()

    def of(self, experiment_id: UUID, state: str) -> dict[str, Any] | None:
        """None where they were computed from another state. Not to be changed by whoever reads them."""
        with self._lock:
            found = self._kept.get(experiment_id)
            if found is None or found[0] != state:
                return None
            self._kept.move_to_end(experiment_id)
            return found[1]

    def keep(self, experiment_id: UUID, state: str, results: dict[str, Any]) -> None:
        with self._lock:
            self._kept[experiment_id] = (state, results)
            self._kept.move_to_end(experiment_id)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
