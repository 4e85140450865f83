"""Child processes, signals, and strays: processes that an earlier guardian left behind."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from app.embedded.account import Account, entry_to
from app.embedded.errors import EmbeddedError

POLL_SECONDS = 0.01
TAIL_BYTES = 2000
# A new cluster took 46 MB when measured; the rest is working space.
LITTLE_SPACE_BYTES = 64_000_000
# Environment variables that the servers inherit. Others, such as API keys, are not passed on.
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")

# Signals to send, each with the seconds to wait before the next.
StopSignals = Sequence[tuple[signal.Signals, float]]


def launch(
    command: Sequence[str | Path],
    account: Account,
    cwd: Path,
    log: Path,
    death_signal: signal.Signals,
    stdin: int = subprocess.DEVNULL,
    kept_open: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Starts a server or a tool as the account and appends its output to the log."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"LC_ALL": "C"}
    with log.open("ab") as output:
        try:
            return subprocess.Popen(
                command,
                cwd=cwd,
                env=environment,
                stdin=stdin,
                stdout=output,
                stderr=output,
                pass_fds=kept_open,
                preexec_fn=entry_to(account, death_signal),
            )
        except subprocess.SubprocessError as error:
            raise EmbeddedError(
                f"Root's servers run as the user with id {account.uid}, and this machine or container does not allow "
                "switching to it: start as another user, or use your own Postgres and Redis."
            ) from error


def send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def stop(pids: Callable[[], list[int]], signals: StopSignals) -> None:
    """Sends the signals one after another until pids() is empty."""
    for number, timeout_seconds in signals:
        for pid in pids():
            send(pid, number)
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            if not pids():
                return
            time.sleep(POLL_SECONDS)


def strays(program: str, cwd: Path, marker: str) -> list[int]:
    """Live processes of this program with this working directory, started by any process.

    Without /proc: processes whose command line contains the marker.
    """
    if Path("/proc/self/cwd").exists():
        return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and _works_in(entry, program, cwd)]
    listing = subprocess.run(["/bin/ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, check=True)
    rows = (line.split(maxsplit=1) for line in listing.stdout.splitlines())
    return [int(row[0]) for row in rows if len(row) == 2 and program in row[1] and marker in row[1]]


def _works_in(pid: str, program: str, cwd: Path) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/cwd") == str(cwd) and Path(f"/proc/{pid}/comm").read_text().strip() == program
    except OSError:
        return False  # dead, a zombie, or another user's


def explanation(log: Path) -> str:
    """A full disk if that is the likely cause, and the end of the log, for an error message."""
    free_bytes = shutil.disk_usage(log.parent).free
    if free_bytes < LITTLE_SPACE_BYTES:
        return f" Its disk is nearly full: {free_bytes // 1_000_000} MB are free. Free some space.{tail(log)}"
    return tail(log)


def tail(log: Path) -> str:
    """The end of a log, for an error message."""
    try:
        text = log.read_bytes()[-TAIL_BYTES:].decode(errors="replace").strip()
    except OSError:
        return ""
    return f"\nThe end of {log}:\n{text}" if text else ""
