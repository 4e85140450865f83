"""The dependencies of the use cases. Built once per process by `app.bootstrap` and passed as a plain argument."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from uuid import UUID

from cachetools import LRUCache

from app.messaging.publisher import Publisher
from app.messaging.queue import TaskQueue
from app.settings import Settings
from app.store.engine import Engine
from app.store.errors import FullDisk
from app.usecases.documents import Documents

Answer = TypeVar("Answer")

MOST_KEPT = 100
"""Experiments: more than a page of their list shows."""


class RunAside(Protocol):
    def __call__(self, work: Callable[[], Answer], /) -> Answer: ...


def _run_here(work: Callable[[], Answer], /) -> Answer:
    return work()


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    engine: Engine
    tasks: TaskQueue
    publisher: Publisher
    full_disk: FullDisk = field(default_factory=FullDisk)
    documents: Documents = field(default_factory=Documents)
    results: LRUCache[tuple[UUID, str, str | None], tuple[str, dict[str, Any]]] = field(
        default_factory=lambda: LRUCache(MOST_KEPT)
    )
    """Of experiments by outcome and control, each with the state of the data that it was computed from. No lock: all
    requests share one thread."""
    run_aside: RunAside = _run_here
    """Runs CPU-bound work: in a thread where one event loop serves all requests."""
