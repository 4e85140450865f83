"""Judgments of an experiment, from the server or from a file with the columns of the export."""

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.cli.errors import CommandFailed
from app.cli.experiment.files import check_columns, csv_rows, json_lines, read_bytes
from app.cli.experiment.named import path_of
from app.cli.options import connect
from app.cli.output import Json
from app.statistics.contestant_results import Control
from app.statistics.exported import COLUMNS, NEEDED, judgment_of
from app.statistics.results import results
from app.statistics.rows import JudgmentRow, Outcome
from app.wire.tables import text_of

MAX_BYTES = 500_000_000
PARQUET = b"PAR1"
"""A Parquet file begins and ends with it."""
Rows = Iterator[tuple[str, dict[str, Any]]]
"""Each row with its place, such as "line 3"."""


def is_file(which: str) -> bool:
    return Path(which).suffix.lower() in _READERS


def rows_of_file(path: Path) -> Rows:
    """Refuses a wrong column before the first row."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise CommandFailed(f"{path} is not a file of judgments: the name must end in {', '.join(_READERS)}")
    return reader(path)


def _check_columns(where: str, columns: list[str], needed: tuple[str, ...] = NEEDED) -> None:
    check_columns(where, columns, COLUMNS, needed, "judgments have")


def _csv(path: Path) -> Rows:
    for line, row in csv_rows(path, lambda names: _check_columns(f"{path}, line 1", names), MAX_BYTES):
        yield f"line {line}", {name: text_of(cell) for name, cell in row.items()}


def _json_lines(path: Path) -> Rows:
    for line, row in json_lines(path, MAX_BYTES):
        where = f"{path}, line {line}"
        if not isinstance(row, dict):
            raise CommandFailed(f"{where}: a judgment is an object")
        _check_columns(where, list(row), needed=())
        if any(isinstance(value, dict | list) for value in row.values()):
            raise CommandFailed(f"{where}: the values of a judgment are texts and numbers")
        yield f"line {line}", row


def _parquet(path: Path) -> Rows:
    number = 0
    for names, columns in _parquet_batches(path, read_bytes(path, MAX_BYTES)):
        _check_columns(str(path), names)
        for values in zip(*columns, strict=True):
            number += 1
            yield f"row {number}", dict(zip(names, values, strict=True))


def _parquet_batches(path: Path, data: bytes) -> list[tuple[list[str], list[Any]]]:
    """The names of the columns, and the values of each."""
    # Imported lazily: only such a file needs it.
    from arro3.io import read_parquet

    footer = int.from_bytes(data[-8:-4], "little")
    if data[:4] != PARQUET or data[-4:] != PARQUET or footer > len(data) - 3 * len(PARQUET):
        raise CommandFailed(f"{path} is not Parquet, or was truncated")
    try:
        batches = list(read_parquet(io.BytesIO(data)))
        return [(batch.column_names, [column.to_pylist() for column in batch.columns]) for batch in batches]
    except BaseException as problem:
        # The library panics on a damaged file; its PanicException is no Exception and has no public class.
        if isinstance(problem, Exception) or type(problem).__name__ == "PanicException":
            raise CommandFailed(f"{path} is damaged: {problem}") from None
        raise


_READERS = {".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}


def judgments_of_file(path: Path) -> list[JudgmentRow]:
    return [judgment for judgment, _ in checked_rows(path)]


def checked_rows(path: Path) -> list[tuple[JudgmentRow, Mapping[str, Any]]]:
    """Each judgment with its row. A judge may judge a debate several times; the file has each judgment once."""
    found: list[tuple[JudgmentRow, Mapping[str, Any]]] = []
    seen: dict[object, str] = {}
    for where, row in rows_of_file(path):
        try:
            judgment = judgment_of(row)
        except ValueError as problem:
            raise CommandFailed(f"{path}, {where}: {problem}") from None
        of_key = (judgment.debate, judgment.judge, judgment.order, judgment.repeat, judgment.through_round)
        key = row.get("judgment_id") or of_key
        if key in seen:
            raise CommandFailed(f"{path}, {where}: this judge's judgment is already in {seen[key]}")
        seen[key] = where
        found.append((judgment, row))
    return found


def compared(*sources: str) -> Json:
    """The results of experiments, each as one arm."""
    names, rows = [], []
    for which in sources:
        if is_file(which):
            names.append(Path(which).name)
            rows.append(judgments_of_file(Path(which)))
        else:
            api = connect()
            path = path_of(api, which)
            names.append(api.get(path)["experiment"]["name"])
            lines = api.download(f"{path}/export", what="judgments", format="jsonl").decode().split("\n")
            rows.append([judgment_of(json.loads(line)) for line in lines if line.strip()])
    arms = names if len(set(names)) == len(names) else sources
    return results([one._replace(arm=arm) for arm, of_one in zip(arms, rows, strict=True) for one in of_one])


def results_of(which: str, outcome: Outcome = "winner", control: Control | None = None) -> tuple[Json, Json | None]:
    """The results, and the experiment if it is on the server. Computes the results of a file."""
    if is_file(which):
        return results(judgments_of_file(Path(which)), outcome=outcome, control=control), None
    api = connect()
    path = path_of(api, which)
    found = api.get(f"{path}/results", within_seconds=60, outcome=outcome, control=control)["results"]
    return found, api.get(path)["experiment"]
