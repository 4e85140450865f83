"""What happens after a player failed: a decision as a value, applied by the use case."""

from dataclasses import dataclass

MAX_ATTEMPTS = 5
MAX_PATIENT_ATTEMPTS = 20
"""For a provider that asks us to come later: it will serve us in the end, so giving up early would waste the debate."""
FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class TryAgain:
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    pass


def after_failure(failed_attempts: int, permanent: bool, jitter: float, patient: bool = False) -> TryAgain | GiveUp:
    """`failed_attempts` counts the one that just failed; `jitter` is a number in [0, 1).

    The delay doubles each time and is spread over its upper half, so that debates that failed together (a provider
    was away) do not come back together.
    """
    if permanent or failed_attempts >= (MAX_PATIENT_ATTEMPTS if patient else MAX_ATTEMPTS):
        return GiveUp()
    # An exponent that cannot overflow a float, whatever the column says.
    doubled = FIRST_DELAY_SECONDS * 2 ** min(failed_attempts - 1, 30)
    longest = min(doubled, LONGEST_DELAY_SECONDS)
    return TryAgain(longest * (0.5 + jitter / 2))
