"""The interface between a worker and the player in a seat."""

from typing import Protocol

from app.core.brief import Brief, Thought


class Player(Protocol):
    async def think(self, brief: Brief) -> Thought:
        """Takes the turn under the brief's cursor. Raises PlayerError when it could not, or NotNow when it must not
        yet. Is cancelled when the claim ends (stop, pause, shutdown)."""
