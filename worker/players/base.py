"""The interface between a worker and the player in a seat."""

import time
from typing import Protocol

from app.core.brief import Brief, Thought


class Player(Protocol):
    async def think(self, brief: Brief) -> Thought:
        """Takes the turn under the brief's cursor. Raises PlayerError when it could not, or NotNow when it must not
        yet. Is canceled when the claim ends."""


def with_latency(thought: Thought, began: float) -> Thought:
    return thought.evolve(usage=thought.usage.or_latency(round((time.monotonic() - began) * 1000)))
