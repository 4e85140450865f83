"""What a turn costs: as `scripts/bench many` measured it in this checkout, or as docs/performance.md has it."""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path

MEASURED = Path("bench-results/many.json")
ENOUGH_DEBATES = 1_000
"""Fewer, as `--quick` takes them, share few statements, and what is done once weighs too much."""


@dataclass(frozen=True)
class Costs:
    worker_us: float
    postgres_us: float
    wal_bytes: float
    source: str


DOCUMENTED = Costs(739, 476, 5_527, "docs/performance.md, `many`")


def costs(path: Path = MEASURED) -> Costs:
    try:
        run = json.loads(path.read_text())
    except FileNotFoundError:
        return DOCUMENTED
    if run["debates"] < ENOUGH_DEBATES:
        return DOCUMENTED
    rows = {name: statistics.median(row["ours"]) for name, row in run["rows"].items()}
    return Costs(
        worker_us=rows["CPU of the workers, µs a turn"],
        postgres_us=rows["CPU of Postgres, µs a turn"],
        wal_bytes=rows["WAL bytes a turn"],
        source=f"{path}, {run['debates']:,} debates",
    )
