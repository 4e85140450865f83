"""Child processes that a command starts, restarts and stops. On Linux they never outlive it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from app.cli.errors import CommandFailed
from app.embedded.account import ending_with_parent
from app.settings import Settings, child_environment

TAIL_LINES = 12
API_COMMAND = [
    *(sys.executable, "-m", "gunicorn", "-c", "python:app.http.server.configuration"),
    "app.web.wsgi:application",
]
WORKER_COMMAND = [sys.executable, "-m", "worker"]
SOURCE_DIRECTORY = Path(__file__).resolve().parents[2]
"""The working directory of both commands. Python imports from it, and the user's may have another `app`."""
CHECK_EVERY_SECONDS = 0.2


class Child:
    def __init__(self, name: str, command: list[str], settings: Settings, log: Path | None) -> None:
        """Its output is appended to the log file, or goes to stderr without one."""
        self.name = name
        self._command = command
        self._environment = child_environment(settings)
        self._log = log
        self.start()

    def start(self) -> None:
        # Appending keeps the output of a process that died. Another command with this data directory uses this log too.
        output: IO[bytes] | None = self._log.open("ab") if self._log else None
        try:
            self.process = subprocess.Popen(
                self._command,
                cwd=SOURCE_DIRECTORY,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output or sys.stderr,
                stderr=output or sys.stderr,
                # The terminal must not send Ctrl-C to the children: this process stops them in order.
                start_new_session=True,
                preexec_fn=ending_with_parent(signal.SIGTERM),
            )
        finally:
            if output:
                output.close()

    def why_dead(self) -> str | None:
        """The reason of its end; None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def check(self) -> None:
        """Raises CommandFailed with the end of its log if it has ended."""
        why = self.why_dead()
        if why is not None:
            raise CommandFailed(f"{_title(self)} ended at startup ({why}){self.last_words()}")

    def last_words(self) -> str:
        """The end of its log, for the error message."""
        if self._log is None:
            return ""
        lines = self._log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return "\n".join([f". The end of {self._log}:", *lines])


def end(children: list[Child], timeout_seconds: float = 15) -> None:
    """Sends SIGTERM to all, and SIGKILL to those that are alive after the timeout."""
    for child in children:
        if child.process.poll() is None:
            child.process.terminate()
    deadline = time.monotonic() + timeout_seconds
    for child in children:
        try:
            child.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(child.process.pid, signal.SIGKILL)
            child.process.wait()


class Part(Protocol):
    """A child or the embedded servers, for a supervisor."""

    @property
    def name(self) -> str: ...

    def why_dead(self) -> str | None:
        """None while it runs."""

    def start(self) -> None:
        """Restarts it. Raises CommandFailed or OSError when that fails."""

    def last_words(self) -> str: ...


def _title(part: Part) -> str:
    return part.name[:1].upper() + part.name[1:]


@dataclass(frozen=True)
class RestartPolicy:
    first_pause_seconds: float = 0.5
    max_pause_seconds: float = 30
    healthy_seconds: float = 60
    """A part that ran for this long restarts after the first pause, and its deaths are not counted."""
    max_deaths: int = 10
    """In a row, each before healthy_seconds. The supervisor gives up after about two minutes of pauses."""

    def pause_seconds(self, deaths: int) -> float:
        """The exponential backoff after this many deaths in a row."""
        return float(min(self.first_pause_seconds * 2 ** (deaths - 1), self.max_pause_seconds))


class _Watched:
    """A part with its restarts."""

    def __init__(self, part: Part, policy: RestartPolicy, say: Callable[[str], None]) -> None:
        self.part = part
        self._policy = policy
        self._say = say
        self._started_at = time.monotonic()
        self._restart_at: float | None = None
        self._deaths = 0

    def check(self) -> None:
        now = time.monotonic()
        if self._restart_at is None:
            why = self.part.why_dead()
            if why is not None:
                self._note_death(now, why)
        elif now >= self._restart_at:
            self._restart_at = None
            self._started_at = now
            try:
                self.part.start()
            except (CommandFailed, OSError) as problem:
                self._note_death(now, str(problem))
            else:
                self._say(f"Restarted {self.part.name}")

    def _note_death(self, now: float, why: str) -> None:
        if now - self._started_at >= self._policy.healthy_seconds:
            self._deaths = 0
        self._deaths += 1
        if self._deaths >= self._policy.max_deaths:
            raise CommandFailed(
                f"{_title(self.part)} ended {self._deaths} times in a row, the last time: {why}{self.part.last_words()}"
            )
        pause = self._policy.pause_seconds(self._deaths)
        self._restart_at = now + pause
        self._say(f"{_title(self.part)} ended ({why}); restarting in {pause:g} s")


class Supervisor:
    """Restarts parts from a separate thread, and stops the children among them.

    The kernel signals a child when the thread that started it ends (PR_SET_PDEATHSIG). So the thread that restarts
    children also stops them before it ends.
    """

    def __init__(self, say: Callable[[str], None], policy: RestartPolicy | None = None) -> None:
        """`say` prints a line for the user."""
        self._say = say
        self._policy = policy or RestartPolicy()
        self._children: list[Child] = []
        self._stop = threading.Event()
        self._is_over = threading.Event()
        self._failure: CommandFailed | None = None
        self._thread: threading.Thread | None = None

    def add(self, child: Child) -> None:
        """Adds a child before `supervise`."""
        self._children.append(child)

    def check(self) -> None:
        """Raises if a child has ended before `supervise`: a child that cannot start is not restarted."""
        for child in self._children:
            child.check()

    def supervise(self, *others: Part) -> None:
        watched = [_Watched(part, self._policy, self._say) for part in (*others, *self._children)]
        self._thread = threading.Thread(target=self._run, args=[watched], name="supervisor", daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Returns after that time, or never. Raises CommandFailed after the supervisor has given up."""
        self._is_over.wait(seconds)
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        """Stops the children. Idempotent."""
        if self._thread is None:
            end(self._children)
            return
        self._stop.set()
        self._thread.join()

    def _run(self, watched: list[_Watched]) -> None:
        try:
            while not self._stop.wait(CHECK_EVERY_SECONDS):
                for one in watched:
                    one.check()
        except CommandFailed as failure:
            self._failure = failure
        except BaseException as problem:
            # Without a supervisor, dead parts would not restart: stop everything with a message.
            self._failure = CommandFailed(
                f"The supervisor of the child processes failed: {type(problem).__name__}: {problem}"
            )
            raise
        finally:
            end(self._children)
            self._is_over.set()
