"""Repeats what waits for the world, with a pause and a bound: a database that is unavailable, a row that is locked."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from app.store.engine import DatabaseUnavailable
from app.store.unavailable import log_outage

Answer = TypeVar("Answer")

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


async def until_stored(action: Callable[[], Awaitable[Answer]], patience: Patience, during: str) -> Answer:
    """Repeats the action while the database is unavailable. Raises GaveUp when that takes too long. A try that failed
    may have been stored: the action must do no harm when it is repeated."""
    while True:
        try:
            return await action()
        except DatabaseUnavailable as problem:
            log_outage(problem, during)
        await patience.pause()
