"""Logs that the database is unavailable, for code that must continue. `worker.patience` repeats an action until it is
stored."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from app.store.engine import DatabaseUnavailable
from app.store.errors import log_words

log = structlog.get_logger(__name__)


def log_outage(problem: BaseException, during: str, **about: object) -> None:
    log.warning("database.unavailable", during=during, problem=log_words(problem), **about)


@contextmanager
def tolerate_outage(during: str, **about: object) -> Iterator[None]:
    """Logs that the database is unavailable; execution continues after the block."""
    try:
        yield
    except DatabaseUnavailable as problem:
        log_outage(problem, during, **about)


@contextmanager
def tolerate_errors(during: str, on_error: Callable[[], None] = lambda: None, **about: object) -> Iterator[None]:
    """One round of a loop that no error may end: logs the error, calls `on_error`, and the next round follows."""
    is_done = False
    try:
        with tolerate_outage(during, **about):
            yield
            is_done = True
    except Exception:
        log.exception("loop.failed", during=during, **about)
    if not is_done:
        on_error()
