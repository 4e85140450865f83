"""The interface between a worker and the player in a seat."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from app.core.brief import Brief, Thought
from app.core.retry import NotNow
from app.store.engine import DatabaseUnavailable
from app.store.unavailable import log_outage

READ_AGAIN_SECONDS = 1.0


class Player(Protocol):
    async def think(self, brief: Brief) -> Thought:
        """Takes the turn under the brief's cursor. Raises PlayerError when it could not, or NotNow when it must not
        yet. Is cancelled when the claim ends (stop, pause, shutdown)."""


def with_latency(thought: Thought, began: float) -> Thought:
    """With how long the player took, unless it says so itself. `began` is of the monotonic clock."""
    return thought.evolve(usage=thought.usage.or_latency(round((time.monotonic() - began) * 1000)))


@contextmanager
def reading_transcript() -> Iterator[None]:
    """While the database is unavailable, the work is postponed."""
    try:
        yield
    except DatabaseUnavailable as problem:
        log_outage(problem, "transcript")
        words = "The transcript could not be read: the database was unreachable."
        raise NotNow(words, READ_AGAIN_SECONDS) from problem
