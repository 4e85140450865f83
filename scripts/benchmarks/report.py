"""How figures are printed and kept."""

import json
import os
import platform
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path("bench-results")


@dataclass(frozen=True)
class Aim:
    """The target of a ratio, or of the figure in a row without a baseline."""

    at_least: float | None = None
    at_most: float | None = None

    def __str__(self) -> str:
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"

    def is_reached(self, value: float) -> bool:
        return value >= self.at_least if self.at_least is not None else value <= (self.at_most or 0)


@dataclass(frozen=True)
class Row:
    """One figure, from each repeat, with its neighbour of the same repeat."""

    name: str
    ours: list[float]
    beside: list[float] | None = None
    aim: Aim | None = None
    digits: int = 1

    @property
    def ratios(self) -> list[float]:
        return [mine / reference for mine, reference in zip(self.ours, self.beside or [], strict=True)]

    @property
    def is_reached(self) -> bool | None:
        """None where there is no target."""
        if self.aim is None:
            return None
        return self.aim.is_reached(statistics.median(self.ratios if self.beside else self.ours))

    def as_json(self) -> dict[str, Any]:
        ratios = self.ratios if self.beside else None
        aim = str(self.aim) if self.aim else None
        return {"ours": self.ours, "beside": self.beside, "ratios": ratios, "aim": aim, "is_reached": self.is_reached}


def machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count()} cores{_processor()}, Python {platform.python_version()}"


def _processor() -> str:
    """As Linux names it; other systems have other ways, and the figures do not depend on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((f" ({line.partition(':')[2].strip()})" for line in lines if line.startswith("model name")), "")


def spread(values: list[float], digits: int = 0) -> str:
    return f"{statistics.median(values):8.{digits}f}   ({min(values):.{digits}f} to {max(values):.{digits}f})"


def head(part: str, work: str, repeats: int) -> None:
    print(f"\n{part}: {work}")
    print(f"machine: {machine()}; {_repeats(repeats)}, median (lowest to highest)\n")


def _repeats(count: int) -> str:
    return "1 repeat" if count == 1 else f"{count} repeats"


def table(rows: list[Row], beside: str, ours: str) -> None:
    width = max(len(row.name) for row in rows)
    print(f"  {'':{width}}{beside:>26}{ours:>26}{'ratio':>22}{'target':>9}")
    for row in rows:
        reference = _cell(row.beside, row.digits) if row.beside else ""
        ratio = _cell(row.ratios, 2) if row.beside else ""
        print(f"  {row.name:{width}}{reference:>26}{_cell(row.ours, row.digits):>26}{ratio:>22}{_verdict(row)}")
    print()


def _cell(values: list[float], digits: int) -> str:
    middle = f"{statistics.median(values):,.{digits}f}"
    return f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})" if len(values) > 1 else middle


def _verdict(row: Row) -> str:
    return f"{row.aim!s:>9}  {'met' if row.is_reached else 'MISSED'}" if row.aim else ""


def save_rows(part: str, rows: list[Row], **more: Any) -> None:
    save(part, {"rows": {row.name: row.as_json() for row in rows}, **more})


def save(part: str, figures: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{part}.json"
    path.write_text(json.dumps({"machine": machine(), **figures}, indent=2) + "\n")
    print(f"figures: {path}")
