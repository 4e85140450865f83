"""Rows of an experiment as CSV, JSON lines or Parquet, page by page: memory does not grow with their number."""

import csv
import io
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic_core import to_json

from app.core.texts import FORMULA_STARTS
from app.statistics.exported import COLUMNS as JUDGMENTS
from app.statistics.exported import LENGTHS
from app.wire.debates import time_json

Row = Mapping[str, Any]
COLUMNS: dict[str, tuple[str, ...]] = {
    "judgments": JUDGMENTS,
    "debates": (
        "debate_id", "arm", "motion_id", "proposer", "opponent", "repeat", "correct", "status", "reason", "format",
        "arguments", "winner", "input_tokens", "output_tokens", "cost_usd", "created_at", "updated_at",
    ),
    "turns": (
        "argument_id", "debate_id", "motion_id", "seq", "round", "type", "role", "contestant", "player", "content",
        "input_tokens", "output_tokens", "cost_usd", "latency_ms", "created_at",
    ),
}  # fmt: skip
NUMBERS = frozenset({"score_proposer", "score_opponent", "confidence", "cost_usd"})
WHOLE_NUMBERS = frozenset(
    {"repeat", "arguments", "input_tokens", "output_tokens", "seq", "round", "latency_ms", "through_round", "rounds"}
    | {*LENGTHS}
)
"""All other columns are texts."""
READ_BYTES = 64 * 1024


# The last four are full-width: some spreadsheets take them for the others.
_FORMULA = re.compile(rf"'*[{re.escape(FORMULA_STARTS)}\t\r\n\uff1d\uff0b\uff0d\uff20]")


def cell_of(value: Any) -> Any:
    """As CSV has it: an apostrophe before a text that a spreadsheet would take for a formula."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def text_of(cell: str) -> str:
    """The text of a CSV cell: without the apostrophe of `cell_of`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _shown(value: Any) -> Any:
    if isinstance(value, datetime):
        return time_json(value)
    return str(value) if isinstance(value, UUID) else value


class _CsvLines(io.StringIO):
    """Ends each row that `csv` writes with a newline. `csv` quotes a carriage return, at which readers end a row, only
    where its line terminator contains one."""

    def write(self, row: str) -> int:
        return super().write(row.removesuffix("\r\n") + "\n")


def as_csv(what: str, pages: Iterable[list[Row]]) -> Iterator[bytes]:
    text = _CsvLines(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS[what])
    for page in pages:
        writer.writerows([cell_of(_shown(row[name])) for name in COLUMNS[what]] for row in page)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    if text.getvalue():
        yield text.getvalue().encode()


def as_json_lines(what: str, pages: Iterable[list[Row]]) -> Iterator[bytes]:
    for page in pages:
        rows = ({name: _shown(row[name]) for name in COLUMNS[what]} for row in page)
        yield b"".join(to_json(row) + b"\n" for row in rows)


def as_parquet(what: str, pages: Iterable[list[Row]]) -> Iterator[bytes]:
    """Written to a temporary file first: its footer, which readers begin with, is known at the end."""
    # Imported lazily: only a download needs it.
    from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema
    from arro3.io import write_parquet

    types = {name: DataType.utf8() for name in COLUMNS[what]}
    types |= {name: DataType.float64() for name in NUMBERS & types.keys()}
    types |= {name: DataType.int64() for name in WHOLE_NUMBERS & types.keys()}
    schema = Schema([Field(name, kind, nullable=True) for name, kind in types.items()])

    def batches() -> Iterator[RecordBatch]:
        for page in pages:
            arrays = [Array([_shown(row[name]) for row in page], type=kind) for name, kind in types.items()]
            yield RecordBatch.from_arrays(arrays, schema=schema)

    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        write_parquet(RecordBatchReader.from_batches(schema, batches()), file.name)
        with open(file.name, "rb") as written:
            while piece := written.read(READ_BYTES):
                yield piece
