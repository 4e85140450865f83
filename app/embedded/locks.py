"""File locks that the kernel releases when their holder dies (flock).

Waiting polls: a blocking flock has no deadline and would block every greenlet of a gevent process.
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
    """A descriptor to lock on. Closing it releases the lock; executed children do not inherit it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def try_lock(descriptor: int, mode: Mode) -> bool:
    try:
        fcntl.flock(descriptor, mode.value | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock(path: Path, mode: Mode, deadline: float, refusal: str) -> int:
    """Takes the lock and returns its descriptor. Raises EmbeddedError(refusal) at the deadline (time.monotonic)."""
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
    """Whether the lock is free. Takes it for an instant to find out, so other takers must be ready to retry."""
    descriptor = open_lock(path)
    try:
        return try_lock(descriptor, mode)
    finally:
        os.close(descriptor)
