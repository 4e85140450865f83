"""Announces the server that `debate up` runs on a data directory to other commands with this directory.

A file has the URL of the server, which locks the file. The kernel releases the lock when the server dies, so commands
ignore an old URL.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.embedded import EmbeddedError
from app.embedded.locks import Mode, is_free_for, lock

FILE = "server"
LOCK_SECONDS = 1.0
"""Longer than commands hold the lock to check it."""
LONGEST_URL = 2000


@contextmanager
def announced(data_dir: Path, url: str) -> Iterator[None]:
    """Announces the server until the context ends. Of two servers on one directory, the first stays announced."""
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        descriptor = lock(data_dir / FILE, Mode.EXCLUSIVE, deadline, "another server is announced")
    except (EmbeddedError, OSError):
        yield
        return
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, url.encode())
        yield
    finally:
        os.close(descriptor)


def announced_url(data_dir: Path) -> str | None:
    """The URL of the server that runs on this data directory now."""
    file = data_dir / FILE
    try:
        if not file.is_file() or is_free_for(file, Mode.SHARED):
            return None
        return file.read_text()[:LONGEST_URL] or None
    except (OSError, UnicodeDecodeError):
        # Another user's directory.
        return None
