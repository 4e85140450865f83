"""Everything on this machine: embedded servers where none are configured, the API, and workers."""

import socket
import time
from pathlib import Path
from types import TracebackType

from app.cli.children import API_COMMAND, WORKER_COMMAND, Child, end
from app.cli.client import Api
from app.cli.errors import CommandFailed
from app.embedded import EmbeddedError, EmbeddedServers
from app.settings import Settings

START_SECONDS = 60.0


class Servers:
    """The database and the queue: the configured ones, or embedded ones for as long as this is held."""

    def __init__(self, settings: Settings) -> None:
        self._embedded = EmbeddedServers(settings.data_dir) if settings.is_embedded else None
        self._settings = settings

    def __enter__(self) -> Settings:
        """The settings with both addresses."""
        if self._embedded is None:
            return self._settings
        try:
            urls = self._embedded.acquire()
        except EmbeddedError as problem:
            raise CommandFailed(str(problem)) from problem
        return self._settings.with_changes(
            database_url=self._settings.database_url or urls.database_url,
            redis_url=self._settings.redis_url or urls.redis_url,
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._embedded is not None:
            self._embedded.release()


class Stack:
    """API and workers as children of this process, on servers that are there."""

    def __init__(self, settings: Settings, workers: int, logs: Path | None) -> None:
        self.settings = settings
        self._logs = logs
        self._workers = workers
        self.children: list[Child] = []

    def start(self) -> None:
        """Returns when a debate could run."""
        if self._logs:
            self._logs.mkdir(parents=True, exist_ok=True)
        try:
            self._start("API", API_COMMAND)
            for number in range(1, self._workers + 1):
                self._start(f"worker {number}", WORKER_COMMAND, **self._metrics_port(number))
            self._wait_until_ready()
        except BaseException:
            end(self.children)
            raise

    def __enter__(self) -> "Stack":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        end(self.children)

    def check(self) -> None:
        for child in self.children:
            child.check()

    def _metrics_port(self, number: int) -> dict[str, int]:
        """Each worker on this machine has a port of its own."""
        first = self.settings.metrics_port
        return {} if first is None else {"metrics_port": first + number - 1}

    def _start(self, name: str, command: list[str], **changes: int) -> None:
        log = self._logs / f"{name.lower().replace(' ', '-')}.log" if self._logs else None
        self.children.append(Child(name, command, self.settings.with_changes(**changes), log))

    def _wait_until_ready(self) -> None:
        api = Api.of(self.settings)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            if api.answers() and api.readiness()["workers"] > 0:
                return
            time.sleep(0.05)
        raise CommandFailed(f"The API and its workers were not ready within {START_SECONDS:.0f} seconds")


def free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def port_is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True
