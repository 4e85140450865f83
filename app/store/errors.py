"""Messages for database errors, without the SQL, addresses and users' texts that Postgres' own may contain."""

import time
from dataclasses import dataclass

import psycopg
from psycopg_pool import PoolTimeout
from sqlalchemy.exc import DBAPIError

from app.store.engine import Engine, ServerOnlyReads
from app.words.errors import BUSY, CANNOT_BE_REACHED, DISK_IS_FULL, ONLY_READS

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
    """For any of `DatabaseUnavailable`."""
    cause = _cause(problem)
    if isinstance(cause, ServerOnlyReads):
        return ONLY_READS
    if isinstance(cause, psycopg.errors.DiskFull):
        return DISK_IS_FULL
    return BUSY if isinstance(cause, (PoolTimeout, *_Busy)) else CANNOT_BE_REACHED


def is_conflict(problem: BaseException) -> bool:
    """A deadlock or serialization failure: Postgres has rolled the transaction back, and it can be repeated."""
    return isinstance(_cause(problem), _Conflict)


def log_words(problem: BaseException) -> str:
    """With the first line of Postgres' own message; the rest is SQL or hints."""
    lines = str(_cause(problem)).strip().splitlines()
    return f"{words_for(problem)} ({lines[0]})" if lines else words_for(problem)


def _cause(problem: BaseException) -> BaseException:
    """What Postgres, psycopg or the pool raised, without SQLAlchemy's wrapper."""
    return problem.orig or problem if isinstance(problem, DBAPIError) else problem


@dataclass
class FullDisk:
    """When a write of this process last failed with a full disk: no query can test for it."""

    _seen_at: float = float("-inf")

    def listen(self, engine: Engine) -> None:
        engine.on_error(self._note)

    def _note(self, problem: BaseException) -> None:
        if isinstance(problem, psycopg.errors.DiskFull):
            self._seen_at = time.monotonic()

    @property
    def is_recent(self) -> bool:
        return time.monotonic() - self._seen_at < REMEMBERED_SECONDS
