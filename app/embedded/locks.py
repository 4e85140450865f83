"""Locks that the kernel drops when their holder dies (flock).

Waiting is polling: a blocking flock would have no deadline, and would stop every greenlet of a gevent process.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from app.embedded.errors import EmbeddedError

POLL_SECONDS = 0.01


class Mode(Enum):
    SHARED = fcntl.LOCK_SH
    EXCLUSIVE = fcntl.LOCK_EX


def open_lock(path: Path) -> int:
    """A descriptor to lock on. Closing it gives the lock up; Python keeps it out of executed children."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def try_lock(descriptor: int, mode: Mode) -> bool:
    try:
        fcntl.flock(descriptor, mode.value | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock(path: Path, mode: Mode, deadline: float, refusal: str) -> int:
    """The descriptor of a lock taken before the deadline (time.monotonic), or EmbeddedError with the refusal."""
    descriptor = open_lock(path)
    try:
        while not try_lock(descriptor, mode):
            if time.monotonic() > deadline:
                raise EmbeddedError(refusal)
            time.sleep(POLL_SECONDS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def locked(path: Path, mode: Mode, deadline: float, refusal: str) -> Iterator[int]:
    descriptor = lock(path, mode, deadline, refusal)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_free_for(path: Path, mode: Mode) -> bool:
    """Whether the lock could be taken now. It is, for an instant, so whoever else wants it must be ready to retry."""
    descriptor = open_lock(path)
    try:
        return try_lock(descriptor, mode)
    finally:
        os.close(descriptor)
