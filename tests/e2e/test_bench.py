"""The short version of the measurements: it ends, and prints something for every part. No figure is judged here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness import REPOSITORY


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_quick_benchmark_ends_and_prints_every_part(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    ended = subprocess.run(
        [sys.executable, "-m", "scripts.benchmarks", "--quick"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=850,
    )
    # Without the lines that workers log: what failed, and where.
    said = "\n".join(line for line in ended.stderr.splitlines() if not line.startswith("{"))
    assert ended.returncode == 0, said[-8000:]
    parts = re.findall(r'^    "(\w+)": ', (REPOSITORY / "scripts/benchmarks/__main__.py").read_text(), re.MULTILINE)
    assert len(parts) >= 8
    assert [part for part in parts if not re.search(rf"^{part}: ", ended.stdout, re.MULTILINE)] == []
    assert [part for part in parts if not (tmp_path / "bench-results" / f"{part}.json").exists()] == []
