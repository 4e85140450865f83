"""The Postgres server: one cluster in the data directory, reachable over a unix socket only."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from app.embedded.account import Account
from app.embedded.binaries import POSTGRES_MAJOR, postgres_program
from app.embedded.errors import EmbeddedError
from app.embedded.paths import POSTGRES_SOCKET, Layout
from app.embedded.process import StopSignals, explanation, launch, stop
from app.embedded.server import EmbeddedServer

USER = DATABASE = "debate"
UNFINISHED = "postgres.new-"
INITDB_OPTIONS = (
    "--auth=trust",  # access is controlled by the permissions of the socket's directory
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
)
STATE_LINE = 7  # of postmaster.pid, counted from 0
TOOL_SIGNALS: StopSignals = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0))
TOOL_POLL_SECONDS = 0.05


class Postgres(EmbeddedServer):
    program_name = "postgres"
    # Fast shutdown, then immediate shutdown: neither loses committed data.
    stop_signals = ((signal.SIGINT, 8.0), (signal.SIGQUIT, 3.0), (signal.SIGKILL, 2.0))

    def __init__(self, layout: Layout, account: Account, is_abandoned: Callable[[], bool]) -> None:
        super().__init__(layout, account, layout.postgres_log, layout.cluster)
        # Creating the cluster takes seconds on a busy machine. It is aborted when this becomes true.
        self._is_abandoned = is_abandoned

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@/{DATABASE}?host={quote(str(self.layout.socket_dir))}"

    @property
    def marker(self) -> str:
        return str(self.layout.cluster)

    def command(self) -> list[str | Path]:
        # Quoted, because Postgres treats a comma as a separator.
        sockets = '"' + str(self.layout.socket_dir).replace('"', '""') + '"'
        settings = {
            "listen_addresses": "",
            "port": "5432",  # only the name of the socket
            "unix_socket_directories": sockets,
            "unix_socket_permissions": "0700",
            "max_connections": "300",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        # Not in postgresql.conf, so that a later release can change them for existing clusters too.
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [postgres_program("postgres"), "-D", self.layout.cluster, *options]

    def prepare(self) -> None:
        if self.layout.cluster.exists():
            self._check_version()
        else:
            self._create_cluster()
        self._clear_stale_locks()

    def is_ready(self) -> bool:
        # The lock file's first line is the postmaster's pid; its last line, written last, is the state.
        try:
            lines = self._lock_file.read_text().split("\n")
        except FileNotFoundError:
            return False
        return lines[0] == str(self.pid) and len(lines) > STATE_LINE and lines[STATE_LINE].strip() == "ready"

    @property
    def _lock_file(self) -> Path:
        return self.layout.cluster / "postmaster.pid"

    def _check_version(self) -> None:
        cluster = self.layout.cluster
        try:
            found = (cluster / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            raise EmbeddedError(
                f"{cluster} exists but is not a Postgres cluster. Nothing was changed: move it away, "
                "or choose another data directory."
            ) from None
        if found != str(POSTGRES_MAJOR):
            raise EmbeddedError(
                f"The data in {cluster} was written by Postgres {found}, and this version runs Postgres "
                f"{POSTGRES_MAJOR}. Nothing was changed: dump it with the version that wrote it, or choose another "
                "data directory."
            )
        if cluster.stat().st_uid != self.account.uid:
            raise EmbeddedError(
                f"The data in {cluster} belongs to the user with id {cluster.stat().st_uid}, and Postgres would run as "
                f"{self.account.uid}: use it as the user that created it, or choose another data directory."
            )

    def _create_cluster(self) -> None:
        """Creates the cluster under a temporary name and renames it when complete, so that a crash leaves no partial
        cluster."""
        data_dir = self.layout.data_dir
        for leftover in data_dir.glob(f"{UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        unfinished = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=data_dir))
        try:
            os.chown(unfinished, self.account.uid, self.account.gid)
            self._run_tool(
                unfinished,
                [postgres_program("initdb"), "-D", unfinished, "-U", USER, *INITDB_OPTIONS],
            )
            # Single-user mode reads statements from standard input: no need to start and stop a whole server.
            self._run_tool(
                unfinished,
                [postgres_program("postgres"), "--single", "-D", unfinished, "postgres"],
                f"CREATE DATABASE {DATABASE};\n",
            )
            unfinished.rename(self.layout.cluster)
            _sync_directory(data_dir)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    def _run_tool(self, cwd: Path, command: list[str | Path], statements: str = "") -> None:
        with tempfile.TemporaryFile() as tool_input:
            tool_input.write(statements.encode())
            tool_input.seek(0)
            process = launch(command, self.account, cwd, self.log, signal.SIGTERM, stdin=tool_input.fileno())
        while process.poll() is None:
            if self._is_abandoned():
                stop(lambda: [] if process.poll() is not None else [process.pid], TOOL_SIGNALS)
                raise EmbeddedError("Postgres received a signal to stop while it created its files.")
            time.sleep(TOOL_POLL_SECONDS)
        if process.returncode != 0:
            raise EmbeddedError(
                f"Postgres could not create its files in {self.layout.data_dir}.{explanation(self.log)}"
            )

    def _clear_stale_locks(self) -> None:
        """Removes lock files of a dead postmaster, which Postgres could mistake for a live one.

        No stray is alive, so every lock file is stale. Postgres detects a dead pid, but not a pid that an unrelated
        process has reused, or that belongs to a zombie.
        """
        for name in (POSTGRES_SOCKET, f"{POSTGRES_SOCKET}.lock"):
            (self.layout.socket_dir / name).unlink(missing_ok=True)
        self._lock_file.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    """Makes a rename in this directory survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
