"""Tokens of claims that have ended, for a few seconds: the notice of a stop may overtake the answer of the claim."""

import time
from uuid import UUID

KEPT_SECONDS = 10.0
"""What was missed for longer is found when claims are compared with the database."""
MOST_KEPT = 10_000


class EndedClaims:
    def __init__(self) -> None:
        self._ended_at: dict[UUID, float] = {}
        """The oldest first."""

    def add(self, token: UUID) -> None:
        self._forget(MOST_KEPT - 1)
        self._ended_at.setdefault(token, time.monotonic())

    def __contains__(self, token: UUID) -> bool:
        self._forget(MOST_KEPT)
        return token in self._ended_at

    def _forget(self, most: int) -> None:
        too_old = time.monotonic() - KEPT_SECONDS
        while self._ended_at:
            oldest = next(iter(self._ended_at))
            if len(self._ended_at) <= most and self._ended_at[oldest] > too_old:
                return
            del self._ended_at[oldest]
