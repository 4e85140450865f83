"""The documents as the tests read them: pages, their tables, their links."""

import re
from collections.abc import Iterator
from pathlib import Path

from harness import REPOSITORY

DOCS = REPOSITORY / "docs"
Row = tuple[str, ...]


def pages() -> list[Path]:
    """Every page that somebody may read, but for the changelog."""
    others = ("README.md", "CONTRIBUTING.md", "scripts/README.md", "app/core/README.md", "app/embedded/README.md")
    return [*(REPOSITORY / name for name in others), *sorted(DOCS.rglob("*.md"))]


def prose(page: Path) -> str:
    """Without what is in fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def tables(page: Path) -> Iterator[tuple[Row, list[Row]]]:
    """(header, rows) of each table."""
    for block in re.findall(r"(?:^\|.*\|$\n?)+", prose(page), re.MULTILINE):
        header, _, *rows = (_cells(line) for line in block.splitlines())
        yield header, rows


def rows(name: str, first: str) -> list[Row]:
    """Of all tables of this page whose first column has this title."""
    return [row for header, found in tables(DOCS / name) if header[0] == first for row in found]


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _cells(line: str) -> Row:
    return tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1])
