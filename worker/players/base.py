"""The interface between a worker and the player in a seat."""

from typing import Protocol

from app.core.brief import Brief, Thought
from app.core.debate import Usage


class Player(Protocol):
    async def think(self, brief: Brief) -> Thought:
        """Takes the turn under the brief's cursor. Raises PlayerError when it could not, or NotNow when it must not
        yet. Is cancelled when the claim ends (stop, pause, shutdown)."""


class PlayerError(Exception):
    """A player could not take its turn. The message is for an operator, and contains nothing that a model said."""

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
        """The provider's Retry-After, if it sent one."""
        self.kind = kind
        """The class of the failure in one word, for the log."""
        self.patient = patient
        """The provider only asks to retry later: worth many attempts."""
        self.detail = detail
        """The provider's message. For the debate, never for the log: it may contain anything."""
        self.usage = usage
        """What the failed attempt has cost."""


class NotNow(Exception):
    """Nothing failed, but the turn has to wait: no attempt is counted."""

    def __init__(self, message: str, delay_seconds: float) -> None:
        super().__init__(message)
        self.message = message
        self.delay_seconds = delay_seconds
        self.usage: Usage | None = None
        """What the turn has cost so far."""
