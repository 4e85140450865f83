"""The base class of Postgres and Valkey: launch, restart with a pause, stop."""

import signal
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from app.embedded.account import Account
from app.embedded.errors import EmbeddedError
from app.embedded.locks import Mode, locked
from app.embedded.paths import Layout
from app.embedded.process import StopSignals, explanation, launch, stop, strays

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
# A server that ran for this long before it died restarts after the first pause.
STABLE_SECONDS = 30.0
# For a server without a guardian, and for backends without a server. Short, because a user waits.
STRAY_SIGNALS: StopSignals = ((signal.SIGINT, 2.0), (signal.SIGQUIT, 1.0), (signal.SIGKILL, 2.0))
STRAY_TIMEOUT_SECONDS = 10.0


class EmbeddedServer(ABC):
    program_name: ClassVar[str]
    stop_signals: ClassVar[StopSignals]

    def __init__(self, layout: Layout, account: Account, log: Path, cwd: Path) -> None:
        self.layout = layout
        self.account = account
        self.log = log
        self.cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._pause_seconds = FIRST_PAUSE_SECONDS

    @property
    @abstractmethod
    def url(self) -> str: ...

    @property
    @abstractmethod
    def marker(self) -> str:
        """Distinguishes this server's command line from other servers of the same program."""

    @abstractmethod
    def command(self) -> list[str | Path]: ...

    @abstractmethod
    def is_ready(self) -> bool: ...

    @abstractmethod
    def prepare(self) -> None:
        """Creates the server's files and removes leftovers of a crash. Called when no stray is alive."""

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def start(self) -> None:
        self._started_at = time.monotonic()
        stop(lambda: strays(self.program_name, self.cwd, self.marker), STRAY_SIGNALS)
        # Every process of the server inherits this lock, so its holder knows that no process of an earlier server is
        # left, not even an invisible one, such as a backend in another container.
        path = self.layout.data_dir / f"{self.program_name}.lock"
        deadline = time.monotonic() + STRAY_TIMEOUT_SECONDS
        refusal = f"An earlier {self.program_name} in {self.cwd} does not stop: stop it and try again."
        with locked(path, Mode.EXCLUSIVE, deadline, refusal) as descriptor:
            self.prepare()
            death_signal = self.stop_signals[0][0]
            self._process = launch(
                self.command(), self.account, self.cwd, self.log, death_signal, kept_open=[descriptor]
            )

    def is_dead(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def death_notice(self) -> EmbeddedError:
        code = self._process.returncode if self._process else None
        return EmbeddedError(f"{self.program_name} ended with code {code} before it was ready.{explanation(self.log)}")

    def restart_when_due(self) -> None:
        """Restarts a dead server after a pause that doubles with each early death."""
        ran_seconds = time.monotonic() - self._started_at
        if ran_seconds > STABLE_SECONDS:
            self._pause_seconds = FIRST_PAUSE_SECONDS
        if ran_seconds >= self._pause_seconds:
            self._pause_seconds = min(self._pause_seconds * 2, LONGEST_PAUSE_SECONDS)
            self.start()

    def ask_to_stop(self) -> None:
        if self._process and not self.is_dead():
            self._process.send_signal(self.stop_signals[0][0])

    def wait_until_stopped(self) -> None:
        stop(lambda: [] if self.is_dead() else [self.pid], self.stop_signals)
