"""The guardian, the process that owns the servers: python -m app.embedded.guardian <data directory>

The first user starts it, in a new session. It prints `ready` or an error on standard output. Then it keeps the servers
alive while any process holds the users' lock. It imports the standard library only, to start fast.
"""

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from app.embedded.account import servers_account
from app.embedded.binaries import postgres_program, valkey_program
from app.embedded.errors import EmbeddedError
from app.embedded.locks import Mode, lock, open_lock, try_lock
from app.embedded.paths import Layout, make_socket_dir
from app.embedded.postgres import Postgres
from app.embedded.server import EmbeddedServer
from app.embedded.servers import LATE, READY
from app.embedded.valkey import Valkey

# Users take the guardian's lock for an instant to test it; another guardian keeps it.
LOCK_TIMEOUT_SECONDS = 2.0
STARTING_POLL_SECONDS = 0.01
WATCHING_POLL_SECONDS = 0.1
MAX_LOG_BYTES = 10_000_000


class Guardian:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
        # Never closed: held until this process ends.
        lock(layout.guardian_lock, Mode.EXCLUSIVE, deadline, LATE)
        self._users_lock = open_lock(layout.users_lock)
        self._announced = False
        self._asked_to_stop = False
        signal.signal(signal.SIGTERM, lambda *_: self._ask_to_stop())

        needed = [layout.data_dir, layout.socket_home.parent, postgres_program("postgres"), valkey_program()]
        account = servers_account(needed)
        make_socket_dir(layout, account)
        self.postgres = Postgres(layout, account, self._is_over)
        self.valkey = Valkey(layout, account)
        # Valkey first: it starts while Postgres creates its cluster.
        self.servers: list[EmbeddedServer] = [self.valkey, self.postgres]

    def start(self) -> None:
        """Starts both servers and waits until they are ready, or until no user is left."""
        for server in self.servers:
            server.log.write_bytes(b"")
            server.start()
        while not self._all_ready():
            for server in self.servers:
                if server.is_dead():
                    raise server.death_notice()
            if self._is_over():
                raise EmbeddedError("The servers received a signal to stop before they were ready.")
            time.sleep(STARTING_POLL_SECONDS)
        self._announce()

    def watch(self) -> None:
        """Restarts dead servers. Returns when no user is left or on SIGTERM."""
        while not self._is_over():
            try:
                self._tend()
            except (EmbeddedError, OSError) as error:
                # Keep the other server running, and retry.
                with contextlib.suppress(OSError):
                    sys.stderr.write(f"{error}\n")
            time.sleep(WATCHING_POLL_SECONDS)

    def stop(self) -> None:
        """Stops the servers. The locks are held until this process ends."""
        self._withdraw()
        for server in self.servers:
            server.ask_to_stop()
        for server in self.servers:
            server.wait_until_stopped()
        if self.layout.socket_home != self.layout.data_dir:
            shutil.rmtree(self.layout.socket_home, ignore_errors=True)

    def _is_over(self) -> bool:
        # Once taken, the exclusive lock is kept: a new user waits until the servers are down, then starts new ones.
        return self._asked_to_stop or try_lock(self._users_lock, Mode.EXCLUSIVE)

    def _all_ready(self) -> bool:
        return all(server.is_ready() for server in self.servers)

    def _tend(self) -> None:
        for server in self.servers:
            if server.is_dead():
                # New users must wait until the server recovers.
                self._withdraw()
                server.restart_when_due()
        if not self._announced and self._all_ready():
            self._announce()
        for log in (self.layout.guardian_log, self.layout.postgres_log, self.layout.valkey_log):
            if log.stat().st_size > MAX_LOG_BYTES:
                os.truncate(log, 0)

    def _announce(self) -> None:
        facts = {
            "database_url": self.postgres.url,
            "redis_url": self.valkey.url,
            "guardian_pid": os.getpid(),
            "postgres_pid": self.postgres.pid,
            "valkey_pid": self.valkey.pid,
        }
        draft = self.layout.servers_file.with_suffix(".new")
        draft.write_text(json.dumps(facts))
        draft.rename(self.layout.servers_file)
        self._announced = True

    def _withdraw(self) -> None:
        self.layout.servers_file.unlink(missing_ok=True)
        self._announced = False

    def _ask_to_stop(self) -> None:
        self._asked_to_stop = True


def main() -> None:
    # The parent exits immediately, so that the guardian is no user's child and needs no wait().
    if os.fork():
        os._exit(0)
    os.umask(0o077)
    report_to = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    layout = Layout(Path(sys.argv[1]))
    try:
        guardian = Guardian(layout)
        try:
            guardian.start()
            _report(report_to, READY)
            os.close(report_to)
            guardian.watch()
        finally:
            guardian.stop()
    except EmbeddedError as error:
        _report(report_to, str(error))
    except OSError as error:
        _report(report_to, f"The servers in {layout.data_dir} could not be started: {error}.")


def _report(descriptor: int, outcome: str) -> None:
    # The user that started the guardian may have died; others may need the servers.
    with contextlib.suppress(BrokenPipeError):
        os.write(descriptor, outcome.encode())


if __name__ == "__main__":
    main()
