"""The processes for debates on this machine: embedded servers, API, workers and the local model."""

import errno
import socket
import time
from pathlib import Path
from types import TracebackType

from app.cli import output
from app.cli.children import API_COMMAND, WORKER_COMMAND, Child, Supervisor
from app.cli.client import Api
from app.cli.errors import CommandFailed
from app.core.players import LOCAL
from app.embedded import EmbeddedError, EmbeddedServers
from app.settings import Settings

START_SECONDS = 60.0
REVIVE_SECONDS = 20.0
"""The timeout of one attempt to restart the embedded servers. A slower recovery of Postgres continues after it."""


class Servers:
    """Database and queue: the configured servers, or embedded servers until the context ends."""

    name = "embedded Postgres and Valkey"

    def __init__(self, settings: Settings) -> None:
        self._embedded = EmbeddedServers(settings.data_dir) if settings.is_embedded else None
        self._settings = settings

    def __enter__(self) -> Settings:
        """Returns the settings with the URLs of both."""
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

    def why_dead(self) -> str | None:
        """The guardian restarts a server that dies. If the guardian dies, both servers stop."""
        try:
            if self._embedded is None or self._embedded.has_guardian():
                return None
        except OSError as problem:
            # A restart in a removed directory would create an empty database.
            raise CommandFailed(
                f"The data directory {self._settings.data_dir} is gone: {problem.strerror}"
            ) from problem
        return "their guardian process is gone"

    def start(self) -> None:
        """Restarts the embedded servers at the same URLs."""
        if self._embedded is None:
            return
        try:
            self._embedded.acquire(REVIVE_SECONDS)
        except EmbeddedError as problem:
            raise CommandFailed(str(problem)) from problem

    def last_words(self) -> str:
        return f". Their logs are in {self._settings.data_dir}"


class Stack:
    """The API and workers as child processes. Restarts those that die."""

    def __init__(self, settings: Settings, workers: int, logs: Path | None, servers: Servers | None = None) -> None:
        """`servers`: embedded servers to restart too."""
        self.settings = settings
        self._logs = logs
        self._workers = workers
        self._servers = servers
        self._supervisor = Supervisor(output.note)

    def start(self) -> None:
        """Returns when the API responds and a worker is ready."""
        if self._logs:
            self._logs.mkdir(parents=True, exist_ok=True)
        try:
            self._start("API", API_COMMAND)
            for number in range(1, self._workers + 1):
                self._start(f"worker {number}", WORKER_COMMAND, **self._metrics_port(number))
            self._wait_until_ready()
        except BaseException:
            self._supervisor.end()
            raise
        self._supervisor.supervise(*([self._servers] if self._servers else []))

    def __enter__(self) -> "Stack":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._supervisor.end()

    def wait(self, seconds: float | None = None) -> None:
        """Returns after that time, or never. Raises CommandFailed after a part has failed for good."""
        self._supervisor.wait(seconds)

    def _metrics_port(self, number: int) -> dict[str, int]:
        """Each worker on this machine needs another port."""
        first = self.settings.metrics_port
        return {} if first is None else {"metrics_port": first + number - 1}

    def _start(self, name: str, command: list[str], **changes: int) -> None:
        log = self._logs / f"{name.lower().replace(' ', '-')}.log" if self._logs else None
        if log:
            log.write_bytes(b"")
        self._supervisor.add(Child(name, command, self.settings.with_changes(**changes), log))

    def _wait_until_ready(self) -> None:
        api = Api.of(self.settings)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self._supervisor.check()
            if api.answers() and api.readiness()["workers"] > 0:
                return
            time.sleep(0.05)
        raise CommandFailed(f"The API and its workers were not ready within {START_SECONDS:.0f} seconds")


def install_if_local(*players: str) -> None:
    """Installs the local model with a message, because the download takes a while."""
    if LOCAL not in players:
        return
    from app.models.local import DOWNLOAD, InstallFailed, install, is_installed

    if is_installed():
        return
    output.note(f"Installing the local model ({DOWNLOAD}), only once …")
    try:
        install()
    except InstallFailed as problem:
        raise CommandFailed(str(problem), suggestion="See the output of pip above") from problem


def free_port(host: str) -> int:
    with _socket_for(host) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def port_is_free(host: str, port: int) -> bool:
    return why_not_bound(host, port) is None


def why_not_bound(host: str, port: int) -> str | None:
    """The reason why a server cannot listen there; None if it can."""
    with _socket_for(host) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            return "is already in use" if problem.errno == errno.EADDRINUSE else f"cannot be bound ({problem.strerror})"
        return None


def _socket_for(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
