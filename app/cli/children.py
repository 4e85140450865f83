"""Programs that a command starts and ends: they never outlive it."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from app.cli.errors import CommandFailed
from app.settings import Settings, child_environment

TAIL_LINES = 12
API_COMMAND = [sys.executable, "-m", "gunicorn", "-c", "python:app.api.gunicorn", "app.api.wsgi:application"]
WORKER_COMMAND = [sys.executable, "-m", "worker"]
WORKPLACE = Path(__file__).resolve().parents[2]
"""Both commands import from where they work. Where the user stands there may be an `app` that is not ours."""
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """On Linux the kernel ends the child when this process dies, even by kill -9."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Child:
    def __init__(self, name: str, command: list[str], settings: Settings, log: Path | None) -> None:
        """With a log file its output goes there; without one, where ours goes."""
        self.name = name
        self._log = log
        if log:
            log.write_bytes(b"")
        # Appending: a second command in the same data directory has the same log, and neither writes over the other.
        output: IO[bytes] | None = log.open("ab") if log else None
        self.process = subprocess.Popen(
            command,
            cwd=WORKPLACE,
            env=child_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=output or sys.stderr,
            stderr=output or sys.stderr,
            # Ctrl-C is ours to handle: the children are ended in order, not all at once by the terminal.
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        if output:
            output.close()

    def check(self) -> None:
        """Fails with the end of its log when it has ended by itself."""
        code = self.process.poll()
        if code is not None:
            raise CommandFailed(f"The {self.name} ended by itself with exit code {code}{self._tail()}")

    def _tail(self) -> str:
        if self._log is None:
            return ""
        lines = self._log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return "\n".join([f". The end of {self._log}:", *lines])


def end(children: list[Child], patience_seconds: float = 15) -> None:
    """SIGTERM to all, then SIGKILL to those that do not listen."""
    for child in children:
        if child.process.poll() is None:
            child.process.terminate()
    deadline = time.monotonic() + patience_seconds
    for child in children:
        try:
            child.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(child.process.pid, signal.SIGKILL)
            child.process.wait()
