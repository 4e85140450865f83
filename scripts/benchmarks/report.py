"""How figures are printed and kept."""

import json
import os
import platform
import statistics
from pathlib import Path
from typing import Any

RESULTS = Path("bench-results")


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):8.0f}   ({min(values):.0f} to {max(values):.0f})"


def save(part: str, figures: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{part}.json"
    path.write_text(json.dumps({"machine": machine(), **figures}, indent=2) + "\n")
    print(f"figures: {path}")
