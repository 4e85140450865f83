"""The dependencies of the use cases. Built once per process by `app.bootstrap` and passed as a plain argument."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.messaging.queue import TaskQueue
from app.messaging.teller import Teller
from app.settings import Settings
from app.store.engine import Engine
from app.store.errors import FullDisk
from app.usecases.documents import Documents

MOST_KEPT = 100
"""Experiments: more than a page of their list shows."""


class KeptResults:
    """A cache of experiments' results. Each entry holds the state of the data that it was computed from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[UUID, tuple[str, dict[str, Any]]] = OrderedDict()

    def of(self, experiment_id: UUID, state: str) -> dict[str, Any] | None:
        """None where they were computed from another state. The reader must not change them."""
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


def _run_here(work: Callable[[], Any]) -> Any:
    return work()


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    engine: Engine
    tasks: TaskQueue
    teller: Teller
    full_disk: FullDisk = field(default_factory=FullDisk)
    documents: Documents = field(default_factory=Documents)
    results: KeptResults = field(default_factory=KeptResults)
    run_aside: Callable[[Callable[[], Any]], Any] = _run_here
    """Runs CPU-bound work: in a thread where one event loop serves all requests."""
