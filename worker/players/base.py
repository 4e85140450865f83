"""What a worker asks of whoever fills a seat."""

import threading
from typing import Protocol

from app.core.brief import Brief, Thought
from app.core.debate import Usage


class Player(Protocol):
    def think(self, brief: Brief, cancelled: threading.Event) -> Thought:
        """Takes the turn under the brief's cursor. Raises Cancelled soon after `cancelled` is set, PlayerError when it
        could not, or NotNow when it must not yet."""


class Cancelled(Exception):
    """The turn was taken away (stop, pause, shutdown) while the player was thinking."""


class PlayerError(Exception):
    """A player could not take its turn; the message is for an operator, and holds nothing that a model said."""

    def __init__(
        self,
        message: str,
        permanent: bool = False,
        retry_after_seconds: float | None = None,
        *,
        kind: str = "player",
        patient: bool = False,
        detail: str | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.permanent = permanent
        """Trying again cannot help."""
        self.retry_after_seconds = retry_after_seconds
        """How long the provider asked us to wait, if it said so."""
        self.kind = kind
        """The class of the failure in one word, for the log."""
        self.patient = patient
        """The provider only asks us to come later: worth many attempts."""
        self.detail = detail
        """What the provider said. For the debate, never for the log: it may hold anything."""
        self.usage = usage
        """What the failed attempt has cost all the same."""


class NotNow(Exception):
    """Nothing failed, but the turn has to wait: no attempt is counted."""

    def __init__(self, message: str, delay_seconds: float) -> None:
        super().__init__(message)
        self.message = message
        self.delay_seconds = delay_seconds
        self.usage: Usage | None = None
        """What the turn has cost so far."""
