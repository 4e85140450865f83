"""What is wrong with the database, in words for whoever asked something of it and for the log.

Postgres' own words may hold SQL, addresses and what somebody wrote; these do not.
"""

import time
from dataclasses import dataclass

import psycopg
from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.store.engine import Engine, ServerOnlyReads

CANNOT_BE_REACHED = "The database cannot be reached just now"
ONLY_READS = "The database takes no changes just now: it is read-only"
DISK_IS_FULL = "The database can store nothing more just now: its disk is full"
BUSY = "The database is too busy just now"

REMEMBERED_SECONDS = 15.0

_Conflict = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
_Busy = (
    *_Conflict,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.QueryCanceled,
    psycopg.errors.TooManyConnections,
    psycopg.errors.OutOfMemory,
)


def words_for(problem: BaseException) -> str:
    """For any of `DatabaseAway`."""
    cause = _cause(problem)
    if isinstance(cause, ServerOnlyReads):
        return ONLY_READS
    if isinstance(cause, psycopg.errors.DiskFull):
        return DISK_IS_FULL
    return BUSY if isinstance(cause, (PoolTimeout, *_Busy)) else CANNOT_BE_REACHED


def is_conflict(problem: BaseException) -> bool:
    """Postgres has undone the transaction for another's sake, and asks for it once more."""
    return isinstance(_cause(problem), _Conflict)


def log_words(problem: BaseException) -> str:
    """With what Postgres said about it: the first line, for the rest is SQL or advice."""
    lines = str(_cause(problem)).strip().splitlines()
    return f"{words_for(problem)} ({lines[0]})" if lines else words_for(problem)


def _cause(problem: BaseException) -> BaseException:
    """What Postgres, psycopg or the pool raised, inside SQLAlchemy's wrapping."""
    return problem.orig or problem if isinstance(problem, DBAPIError) else problem


@dataclass
class FullDisk:
    """When this process last heard of it. No question shows that a disk is full: only what had to be stored and could
    not be, and a small thing may still find room."""

    _heard_at: float = float("-inf")

    def listen(self, engine: Engine) -> None:
        event.listen(engine, "handle_error", self._hear)

    def _hear(self, context: ExceptionContext) -> None:
        if isinstance(context.original_exception, psycopg.errors.DiskFull):
            self._heard_at = time.monotonic()

    @property
    def is_recent(self) -> bool:
        return time.monotonic() - self._heard_at < REMEMBERED_SECONDS
