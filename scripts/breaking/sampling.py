"""Samples the resources of each process of a stage every few seconds."""

import re
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from scripts.benchmarks.processes import private_bytes, tree
from scripts.breaking.stage import Stage

MEASURES = {
    "memory": "private memory, MB",
    "files": "open files",
    "threads": "threads",
    "connections": "database connections",
}


@dataclass
class Samples:
    """The values of one measure, by process, each with the minute in which it was seen."""

    series: dict[str, dict[str, list[tuple[float, float]]]] = field(
        default_factory=lambda: {measure: defaultdict(list) for measure in MEASURES}
    )

    def add(self, measure: str, process: str, minute: float, value: float) -> None:
        self.series[measure][process].append((minute, value))


class Sampler:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._began = time.monotonic()
        self.samples = Samples()

    def look(self) -> None:
        minute = (time.monotonic() - self._began) / 60
        connections = self._connections()
        for program in self._stage.programs:
            pids = tree(program.child.process.pid)
            self._add(minute, program.name, pids)
            held = sum(connections.get(str(pid), 0) for pid in pids)
            self.samples.add("connections", program.name, minute, held)
        self._add(minute, "valkey", [self._stage.valkey_pid()])
        # Its processes are the connections above, so that only its memory is measured separately; but not its cache
        # of the database, which all of them share and which fills up.
        self.samples.add("memory", "postgres", minute, private_bytes(self._stage.postgres_pid()) / 1e6)

    def _add(self, minute: float, name: str, pids: list[int]) -> None:
        self.samples.add("memory", name, minute, private_bytes(pids[0]) / 1e6)
        self.samples.add("files", name, minute, sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids))
        self.samples.add("threads", name, minute, sum(_threads(pid) for pid in pids))

    def _connections(self) -> dict[str, int]:
        """By the process id that each says in its name."""
        with self._stage.connect() as connection:
            rows = connection.execute(
                "SELECT split_part(application_name, ':', 2), count(*) FROM pg_stat_activity GROUP BY 1"
            ).fetchall()
        return {str(pid): int(str(count)) for pid, count in rows}


def _threads(pid: int) -> int:
    found = re.search(r"^Threads:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) if found else 0
