"""`scripts/simulate` reckons with the costs that were measured last."""

import json
import re
from pathlib import Path

from containers import REPOSITORY

from scripts.simulation.costs import DOCUMENTED, costs


def results(directory: Path, debates: int) -> Path:
    rows = {
        "CPU of the workers, µs a turn": [100, 300, 200],
        "CPU of Postgres, µs a turn": [50],
        "WAL bytes a turn": [4_000],
    }
    path = directory / "many.json"
    path.write_text(json.dumps({"debates": debates, "rows": {name: {"ours": ours} for name, ours in rows.items()}}))
    return path


def test_the_last_run_of_this_checkout_counts(tmp_path: Path) -> None:
    measured = costs(results(tmp_path, 10_000))
    assert (measured.worker_us, measured.postgres_us, measured.wal_bytes) == (200, 50, 4_000)
    assert measured.source.endswith("many.json, 10,000 debates")


def test_a_quick_run_and_none_do_not_count(tmp_path: Path) -> None:
    assert costs(tmp_path / "many.json") == DOCUMENTED
    assert costs(results(tmp_path, 40)) == DOCUMENTED


def test_without_one_it_takes_what_the_document_has() -> None:
    text = (REPOSITORY / "docs" / "performance.md").read_text()
    [cpu] = re.findall(r"\| CPU of the workers, of Postgres, for a turn \| ([\d,]+) µs, ([\d,]+) µs \|", text)
    [wal] = re.findall(r"\| WAL of a turn \| ([\d,]+) bytes \|", text)
    documented = [float(figure.replace(",", "")) for figure in (*cpu, wal)]
    assert documented == [DOCUMENTED.worker_us, DOCUMENTED.postgres_us, DOCUMENTED.wal_bytes]
