"""The pauses of a loop that waits for the world: a database that is away, a row that another transaction holds."""

import asyncio
from collections.abc import Sequence

LONGEST_SECONDS = 3_600.0
"""After pauses of this long, in total, a loop gives up: what it wanted to store is lost, and its claim is released."""


class GaveUp(Exception):
    """Trying again has taken too long."""


class Patience:
    """Pauses before each further try: these in their order, and then the last again and again."""

    def __init__(self, pauses_seconds: Sequence[float]) -> None:
        self._pauses = iter(pauses_seconds)
        self._last = pauses_seconds[-1]
        # Pauses are added up and no clock is read: a process that was frozen has not tried for long.
        self._left_seconds = LONGEST_SECONDS

    async def pause(self) -> None:
        if self._left_seconds <= 0:
            raise GaveUp
        seconds = next(self._pauses, self._last)
        self._left_seconds -= seconds
        await asyncio.sleep(seconds)
