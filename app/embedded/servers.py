"""The side of the users: starts or joins the servers, and releases them."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from app.embedded.errors import EmbeddedError
from app.embedded.locks import Mode, is_free_for, lock, locked
from app.embedded.paths import Layout, make_data_dir
from app.embedded.process import tail

POLL_SECONDS = 0.01
# Longer than a guardian takes from the first signal to SIGKILL.
LEAVING_SECONDS = 15.0
READY = "ready"  # a guardian's report when both servers are ready
LATE = "another guardian is already running"  # its report when an earlier guardian has started after all


@dataclass(frozen=True)
class ServerUrls:
    database_url: str  # a libpq URI
    redis_url: str


def has_database(data_dir: Path) -> bool:
    """Whether this directory has a database."""
    return Layout(data_dir.expanduser().resolve()).cluster.exists()


class EmbeddedServers:
    """One user of the servers in a data directory. They run while they have a user."""

    def __init__(self, data_dir: Path) -> None:
        self._layout = Layout(data_dir.expanduser().resolve())
        self._users_lock: int | None = None

    def __enter__(self) -> ServerUrls:
        return self.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    def acquire(self, timeout_seconds: float = 60) -> ServerUrls:
        """Starts or joins the servers. A repeated call restarts them if they have stopped; if that fails, the lock is
        kept and the call can be repeated."""
        deadline = time.monotonic() + timeout_seconds
        was_held = self._users_lock is not None
        try:
            make_data_dir(self._layout.data_dir)
            if self._users_lock is None:
                # First: with this lock no guardian stops for lack of users.
                refusal = f"The servers in {self._layout.data_dir} did not stop in time: try again."
                self._users_lock = lock(self._layout.users_lock, Mode.SHARED, deadline, refusal)
            return self._start_or_join(deadline)
        except BaseException as error:
            if not was_held:
                self._leave()
            if not isinstance(error, OSError):
                raise
            raise EmbeddedError(
                f"The data directory {self._layout.data_dir} cannot be used ({error.strerror}: {error.filename}): "
                "make it writable, or choose another one."
            ) from error

    def has_guardian(self) -> bool:
        """Whether a guardian keeps the servers alive. Without one, call `acquire` again."""
        return not self._guardian_is_gone()

    def release(self) -> None:
        """Releases the servers. The last user waits until they are down."""
        if self._users_lock is None:
            return
        self._leave()
        deadline = time.monotonic() + LEAVING_SECONDS
        while time.monotonic() < deadline and not self._guardian_is_gone() and not self._others_use_them():
            time.sleep(POLL_SECONDS)

    def _leave(self) -> None:
        """Closes instead of unlocking: a forked child that shares the lock keeps it."""
        if self._users_lock is not None:
            os.close(self._users_lock)
            self._users_lock = None

    def _guardian_is_gone(self) -> bool:
        return is_free_for(self._layout.guardian_lock, Mode.SHARED)

    def _others_use_them(self) -> bool:
        # Not free even for sharing: the guardian holds it and is stopping. Free for exclusive use: the guardian has not
        # noticed yet that we left.
        path = self._layout.users_lock
        return not is_free_for(path, Mode.EXCLUSIVE) and is_free_for(path, Mode.SHARED)

    def _start_or_join(self, deadline: float) -> ServerUrls:
        late = f"The servers in {self._layout.data_dir} were not ready in time: try again."
        with locked(self._layout.start_lock, Mode.EXCLUSIVE, deadline, late):
            while True:
                if self._guardian_is_gone():
                    self._start_guardian(deadline, late)
                urls = self._announced_urls()
                if urls is not None:
                    return urls
                if time.monotonic() > deadline:
                    raise EmbeddedError(late + tail(self._layout.postgres_log))
                time.sleep(POLL_SECONDS)

    def _announced_urls(self) -> ServerUrls | None:
        try:
            facts = json.loads(self._layout.servers_file.read_text())
        except FileNotFoundError:
            return None
        return ServerUrls(facts["database_url"], facts["redis_url"])

    def _start_guardian(self, deadline: float, late: str) -> None:
        # Left by a guardian that was killed.
        self._layout.servers_file.unlink(missing_ok=True)
        self._layout.guardian_log.write_bytes(b"")
        # -P: files in the working directory must not be imported as modules.
        command = [sys.executable, "-P", "-m", "app.embedded.guardian", str(self._layout.data_dir)]
        report, report_end = os.pipe()
        try:
            with self._layout.guardian_log.open("ab") as log, open(report_end, "wb") as output:
                starter = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=log,
                    cwd=self._layout.data_dir,
                    env=os.environ | {"PYTHONPATH": _import_path()},
                    start_new_session=True,
                )
            outcome = _read_until(report, deadline)
        finally:
            os.close(report)
        starter.wait()
        if outcome is None:
            raise EmbeddedError(late + tail(self._layout.postgres_log))
        message = outcome.decode(errors="replace")
        if message not in (READY, LATE):
            raise EmbeddedError(message or f"The servers' guardian did not start.{tail(self._layout.guardian_log)}")


def _import_path() -> str:
    """Our import path with absolute entries: the guardian has another working directory."""
    root = Path(__file__).resolve().parents[2]
    return os.pathsep.join([str(root), *(os.path.abspath(entry) for entry in sys.path if entry)])


def _read_until(descriptor: int, deadline: float) -> bytes | None:
    """Reads to the end of the pipe; None at the deadline. Polls, because a blocking read would block all greenlets."""
    os.set_blocking(descriptor, False)
    received = b""
    while time.monotonic() < deadline:
        try:
            chunk = os.read(descriptor, 65536)
        except BlockingIOError:
            time.sleep(POLL_SECONDS)
            continue
        if not chunk:
            return received
        received += chunk
    return None
