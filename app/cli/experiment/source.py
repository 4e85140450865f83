"""Judgments of an experiment, from the server or from a file with the columns of the export."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.errors import CommandFailed
from app.cli.experiment.files import read_text
from app.cli.experiment.named import path_of
from app.cli.output import Json
from app.statistics.exported import COLUMNS, NEEDED, judgment_of
from app.statistics.results import results
from app.statistics.rows import Judgment

if TYPE_CHECKING:
    from app.cli.client import Api

MAX_BYTES = 500_000_000
FILES = (".csv", ".jsonl")


def is_file(which: str) -> bool:
    return Path(which).suffix.lower() in FILES


def rows_of_file(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row with its line. A wrong column is refused at once."""
    text = read_text(path, MAX_BYTES)
    try:
        yield from _csv(path, text) if path.suffix.lower() == ".csv" else _json_lines(text)
    except (csv.Error, ValueError) as problem:
        raise CommandFailed(f"{path}: {problem}") from None


def _csv(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    columns = list(reader.fieldnames or [])
    unknown = [name for name in columns if name not in (*COLUMNS, "arm")]
    lacking = [name for name in NEEDED if name not in columns]
    if unknown:
        raise CommandFailed(f"{path}, line 1: unknown column {unknown[0]!r}: judgments have {', '.join(COLUMNS)}")
    if lacking:
        raise CommandFailed(f"{path}, line 1: the column {lacking[0]!r} is missing")
    for row in reader:
        if None in row or None in row.values():
            raise CommandFailed(f"{path}, line {reader.line_num}: not as many columns as the first line has")
        yield reader.line_num, row


def _json_lines(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"line {number}: a judgment is an object")
            yield number, row


def judgments_of_file(path: Path, arm: str = "") -> list[Judgment]:
    found = []
    seen: dict[tuple[Any, ...], int] = {}
    for line, row in rows_of_file(path):
        try:
            judgment = judgment_of(row, arm)
        except ValueError as problem:
            raise CommandFailed(f"{path}, line {line}: {problem}") from None
        key = (judgment.debate, judgment.judge, judgment.order, judgment.repeat)
        if key in seen:
            raise CommandFailed(f"{path}, line {line}: this judge's judgment is already in line {seen[key]}")
        seen[key] = line
        found.append(judgment)
    return found


def judgments_of(api: "Api", which: str) -> list[Judgment]:
    """Under the experiment's name as their arm."""
    path = path_of(api, which)
    name = api.get(path)["experiment"]["name"]
    lines = api.download(f"{path}/export", what="judgments", format="jsonl").decode().split("\n")
    return [judgment_of({**json.loads(line), "arm": name}) for line in lines if line.strip()]


def results_of(which: str) -> tuple[Json, Json | None]:
    """The results, and the experiment if it is on the server. A file's are computed here."""
    from app.cli.options import connect

    if is_file(which):
        return results(judgments_of_file(Path(which))), None
    api = connect()
    path = path_of(api, which)
    return api.get(f"{path}/results", within_seconds=60)["results"], api.get(path)["experiment"]
