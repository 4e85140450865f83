"""What a worker asks of whoever fills a seat."""

import threading
from typing import Protocol

from app.core.brief import Brief, Thought


class Player(Protocol):
    def think(self, brief: Brief, cancelled: threading.Event) -> Thought:
        """Takes the turn under the brief's cursor. Raises Cancelled soon after `cancelled` is set, or PlayerError."""


class Cancelled(Exception):
    """The turn was taken away (stop, pause, shutdown) while the player was thinking."""


class PlayerError(Exception):
    """A player could not take its turn; the message is for an operator."""

    def __init__(self, message: str, permanent: bool = False, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.permanent = permanent
        """Trying again cannot help."""
        self.retry_after_seconds = retry_after_seconds
        """How long the provider asked us to wait, if it said so."""
