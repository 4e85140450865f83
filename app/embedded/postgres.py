"""Postgres: one cluster in the data directory, reached over a unix socket only."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

from app.embedded.account import Account
from app.embedded.binaries import POSTGRES_MAJOR, postgres_program
from app.embedded.errors import EmbeddedError
from app.embedded.paths import POSTGRES_SOCKET, Layout
from app.embedded.process import explanation, launch
from app.embedded.server import Server

USER = DATABASE = "debate"
UNFINISHED = "postgres.new-"
INITDB_OPTIONS = (
    "--auth=trust",  # the permissions of the socket's directory are the guard
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
)
STATE_LINE = 7  # of postmaster.pid, counted from 0


class Postgres(Server):
    program_name = "postgres"
    # Fast shutdown, then immediate shutdown: both lose nothing that was committed.
    stop_signals = ((signal.SIGINT, 8.0), (signal.SIGQUIT, 3.0), (signal.SIGKILL, 2.0))

    def __init__(self, layout: Layout, account: Account) -> None:
        super().__init__(layout, account, layout.postgres_log, layout.cluster)

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@/{DATABASE}?host={quote(str(self.layout.socket_dir))}"

    @property
    def marker(self) -> str:
        return str(self.layout.cluster)

    def command(self) -> list[str | Path]:
        # In quotes, because Postgres reads a comma as the start of another directory.
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
        # Here and not in postgresql.conf, so that a later release changes them for old clusters too.
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [postgres_program("postgres"), "-D", self.layout.cluster, *options]

    def prepare(self) -> None:
        if self.layout.cluster.exists():
            self._check_version()
        else:
            self._create_cluster()
        self._clear_stale_locks()

    def is_ready(self) -> bool:
        # The first line of its lock file is the postmaster's pid. One more line, the last to be written, is its state.
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
                f"{cluster} is there but holds no Postgres cluster. Nothing was touched: move it away, "
                "or choose another data directory."
            ) from None
        if found != str(POSTGRES_MAJOR):
            raise EmbeddedError(
                f"The data in {cluster} was written by Postgres {found}, and this version runs Postgres "
                f"{POSTGRES_MAJOR}. Nothing was touched: dump it with the version that wrote it, or choose another "
                "data directory."
            )
        if cluster.stat().st_uid != self.account.uid:
            raise EmbeddedError(
                f"The data in {cluster} belongs to the user with id {cluster.stat().st_uid}, and Postgres would run as "
                f"{self.account.uid}: use it as the user that made it, or choose another data directory."
            )

    def _create_cluster(self) -> None:
        """Make the cluster under another name and rename it when it is whole, so that a crash leaves no half of one."""
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
            # A server for one session, on standard input: no need to start, ask and stop a whole one.
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
        process = launch(command, self.account, cwd, self.log, signal.SIGTERM, stdin=subprocess.PIPE)
        process.communicate(statements.encode())
        if process.returncode != 0:
            raise EmbeddedError(
                f"Postgres could not create its files in {self.layout.data_dir}.{explanation(self.log)}"
            )

    def _clear_stale_locks(self) -> None:
        """Remove what a dead postmaster left, where Postgres would take it for a live one.

        No stray is alive, so no lock file can be a live postmaster's. Postgres sees by itself that a pid is dead, but
        not that it went to an unrelated process, or belongs to a zombie that nobody collects.
        """
        for name in (POSTGRES_SOCKET, f"{POSTGRES_SOCKET}.lock"):
            (self.layout.socket_dir / name).unlink(missing_ok=True)
        self._lock_file.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    """Make a rename in this directory survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
