"""What continues during an outage of the database. Nothing else turns such an error into a log line and a retry."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import structlog

from app.core.retry import NotNow
from app.store.engine import DatabaseUnavailable
from app.store.errors import log_words

log = structlog.get_logger(__name__)
Answer = TypeVar("Answer")

READ_AGAIN_SECONDS = 1.0
LONGEST_SECONDS = 3_600.0
"""After pauses of this total length a loop gives up: its result is lost, and its claim is released."""


def is_outage(problem: BaseException) -> bool:
    return isinstance(problem, DatabaseUnavailable)


def _log_outage(problem: BaseException, during: str, **about: object) -> None:
    log.warning("database.unavailable", during=during, problem=log_words(problem), **about)


@contextmanager
def tolerate_outage(during: str, **about: object) -> Iterator[None]:
    """Logs an outage; execution continues after the block."""
    try:
        yield
    except DatabaseUnavailable as problem:
        _log_outage(problem, during, **about)


@contextmanager
def tolerate_errors(during: str, on_error: Callable[[], None] = lambda: None, **about: object) -> Iterator[None]:
    """One round of a loop that no error may end: logs the error and calls `on_error`."""
    is_done = False
    try:
        with tolerate_outage(during, **about):
            yield
            is_done = True
    except Exception:
        log.exception("loop.failed", during=during, **about)
    if not is_done:
        on_error()


@contextmanager
def postponed_during_outages() -> Iterator[None]:
    """For reads of what a player is shown: while the database is unavailable, its work is postponed."""
    try:
        yield
    except DatabaseUnavailable as problem:
        _log_outage(problem, "transcript")
        words = "The transcript could not be read: the database was unreachable."
        raise NotNow(words, READ_AGAIN_SECONDS) from problem


class GaveUp(Exception):
    """The retries have taken too long."""


class Backoff:
    def __init__(self, pauses_seconds: Sequence[float]) -> None:
        self._pauses = iter(pauses_seconds)
        self._last = pauses_seconds[-1]
        # Pauses are added up instead of reading a clock: the time in which a process was frozen does not count.
        self._left_seconds = LONGEST_SECONDS

    async def pause(self) -> None:
        if self._left_seconds <= 0:
            raise GaveUp
        seconds = next(self._pauses, self._last)
        self._left_seconds -= seconds
        await asyncio.sleep(seconds)


async def until_stored(action: Callable[[], Awaitable[Answer]], backoff: Backoff, during: str) -> Answer:
    """Repeats the idempotent action while the database is unavailable; raises GaveUp when that takes too long."""
    while True:
        try:
            return await action()
        except DatabaseUnavailable as problem:
            _log_outage(problem, during)
        await backoff.pause()
