"""How a player fails, and when it is retried."""

import math

from app.core.debate import Usage

MAX_ATTEMPTS = 5
MAX_PATIENT_ATTEMPTS = 20
"""After HTTP 429: the provider will serve us eventually, so giving up early would waste the debate."""
FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 3_600.0
"""The longest Retry-After that is honoured. A debate that would wait longer fails, so that a person notices."""
LONGEST_STORED_DELAY_SECONDS = 86_400.0
"""No longer delay is stored: Python could not read back a time beyond the year 9999."""
_DAY_SECONDS = 86_400


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


def attempts_allowed(patient: bool) -> int:
    return MAX_PATIENT_ATTEMPTS if patient else MAX_ATTEMPTS


def after_failure(failed_attempts: int, permanent: bool, jitter: float, patient: bool = False) -> float | None:
    """Seconds until the next attempt; None where there is none. `failed_attempts` counts the one that just failed;
    `jitter` is a number in [0, 1).

    Exponential backoff with jitter over the upper half, so that debates that failed together (a provider was down) do
    not retry together.
    """
    if permanent or failed_attempts >= attempts_allowed(patient):
        return None
    # Bounded, so that no value of the column overflows a float.
    doubled = FIRST_DELAY_SECONDS * 2.0 ** min(failed_attempts - 1, 30)
    longest = min(doubled, LONGEST_DELAY_SECONDS)
    return longest * (0.5 + jitter / 2)


def why_not_waited_for(asked_seconds: float | None) -> str | None:
    """Why a wait that a provider asks for is too long; None if it is not."""
    if asked_seconds is None or asked_seconds <= LONGEST_WAIT_SECONDS:
        return None
    if asked_seconds > 365 * _DAY_SECONDS:
        asked = "more than a year"
    elif asked_seconds > 2 * _DAY_SECONDS:
        asked = f"{asked_seconds / _DAY_SECONDS:.0f} days"
    else:
        asked = f"{asked_seconds / 60:.0f} minutes"
    return f"it asks to wait for {asked}, more than the limit of an hour"


def stored_delay(seconds: float) -> float:
    """Bounds a delay before it is stored."""
    if math.isnan(seconds):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_STORED_DELAY_SECONDS)
