"""The system under test: servers, API processes and workers, which restart after they die."""

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import redis

from app.cli.children import API_COMMAND, WORKER_COMMAND, Child, end
from app.cli.stack import free_port
from app.embedded import EmbeddedServers
from app.settings import Settings
from app.store.migrate import upgrade
from debate_client import Client, ClientError, Retries

RESTART_SECONDS = 0.2
LOSSY = "publish.before=lost%5; publish.after=sleep(0.2)%5; enqueue.before=lost%5"
"""Some publishes and tasks are always lost or delayed."""


@contextmanager
def own_servers(claim_seconds: float, keep: bool = False) -> Iterator[Settings]:
    """Postgres and Valkey in a directory that goes away afterwards, and the settings of whoever uses them."""
    directory = Path(tempfile.mkdtemp(prefix="debate-chaos-"))
    try:
        with EmbeddedServers(directory) as urls:
            upgrade(urls.database_url)
            yield Settings(
                database_url=urls.database_url,
                redis_url=urls.redis_url,
                data_dir=directory,
                claim_seconds=claim_seconds,
            )
    finally:
        if keep:
            print(f"kept: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


class Program:
    """A program that is started again whenever it is found dead."""

    def __init__(self, name: str, command: list[str], settings: Settings, log: Path) -> None:
        self._make = lambda: Child(name, command, settings, log.with_name(f"{name}-{time.time_ns()}.log"))
        self.name = name
        self.settings = settings
        self.child = self._make()

    @property
    def is_alive(self) -> bool:
        return self.child.process.poll() is None

    def revive(self) -> None:
        if not self.is_alive:
            self.child = self._make()

    def send(self, number: signal.Signals) -> None:
        """To all its processes: gunicorn has a master and a worker."""
        if self.is_alive:
            os.killpg(self.child.process.pid, number)


class Stage:
    def __init__(self, settings: Settings, apis: int, workers: int) -> None:
        self.settings = settings
        logs = Path(settings.data_dir) / "logs"
        logs.mkdir(exist_ok=True)
        self.apis = []
        for number in range(apis):
            own = self.settings.with_changes(server_port=free_port("127.0.0.1"))
            self.apis.append(Program(f"api-{number}", API_COMMAND, own, logs / "log"))
        self.workers = [
            Program(f"worker-{number}", WORKER_COMMAND, self.settings, logs / "log") for number in range(workers)
        ]
        self._lock = threading.Lock()
        self.redis = redis.Redis.from_url(str(settings.redis_url), socket_timeout=5)

    @property
    def programs(self) -> list[Program]:
        return [*self.apis, *self.workers]

    def urls(self) -> list[str]:
        return [api.settings.url for api in self.apis]

    def connect(self) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(str(self.settings.database_url), autocommit=True, connect_timeout=5)

    def wait_until_ready(self, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        for url in self.urls():
            while time.monotonic() < deadline:
                with suppress(ClientError), Client(url, "", timeout_seconds=5, retries=Retries(())) as client:
                    if client.ready()["workers"]:
                        break
                time.sleep(0.2)

    def postgres_pid(self) -> int:
        return int((Path(self.settings.data_dir) / "postgres" / "postmaster.pid").read_text().split("\n")[0])

    def valkey_pid(self) -> int:
        return int(self.redis.info("server")["process_id"])

    def restart_what_died(self, ending: threading.Event) -> None:
        """As whatever runs these programs in earnest does."""
        while not ending.wait(RESTART_SECONDS):
            with self._lock:
                for program in self.programs if not ending.is_set() else ():
                    program.revive()

    def end(self) -> None:
        with self._lock:
            for program in self.programs:
                program.send(signal.SIGCONT)
            end([program.child for program in self.programs])
