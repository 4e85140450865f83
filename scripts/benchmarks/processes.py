"""What the processes of a server take, from Linux's /proc."""

from contextlib import suppress
from pathlib import Path

_GONE = (FileNotFoundError, ProcessLookupError)
"""A child process may end while it is measured: Postgres has many short-lived ones."""


def tree(pid: int) -> list[int]:
    """A process and what it started: gunicorn serves from a child."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except _GONE:
        return []
    return [pid, *(found for child in children for found in tree(int(child)))]


def memory_bytes(pid: int) -> int:
    """Proportional: what two processes share counts half for each."""
    return _memory(pid, "Pss:")


def private_bytes(pid: int) -> int:
    """Memory that no other process shares: it does not change when a process with the same libraries starts or ends."""
    return _memory(pid, "Private_Clean:", "Private_Dirty:")


def _memory(pid: int, *kinds: str) -> int:
    lines: list[str] = []
    for one in tree(pid):
        with suppress(*_GONE):
            lines += Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(kinds))


def cpu_seconds(pid: int) -> float:
    """In user code and in the kernel, of all threads that are alive."""
    nanoseconds = 0
    for one in tree(pid):
        with suppress(*_GONE):
            for task in Path(f"/proc/{one}/task").iterdir():
                nanoseconds += int((task / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9
