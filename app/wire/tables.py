"""Rows of an experiment as CSV, JSON lines or Parquet, page by page: memory does not grow with their number."""

import csv
import io
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic_core import to_json

from app.wire.debates import time_json

Row = Mapping[str, Any]
TEXT, NUMBER, WHOLE = "text", "number", "whole"
COLUMNS: dict[str, dict[str, str]] = {
    "judgments": {
        "judgment_id": TEXT,
        "debate_id": TEXT,
        "motion_id": TEXT,
        "repeat": WHOLE,
        "proposer": TEXT,
        "opponent": TEXT,
        "judge": TEXT,
        "player": TEXT,
        "order": TEXT,
        "winner": TEXT,
        "score_proposer": NUMBER,
        "score_opponent": NUMBER,
        "confidence": NUMBER,
        "correct": TEXT,
        "cost_usd": NUMBER,
        "created_at": TEXT,
    },
    "debates": {
        "debate_id": TEXT,
        "arm": TEXT,
        "motion_id": TEXT,
        "proposer": TEXT,
        "opponent": TEXT,
        "repeat": WHOLE,
        "correct": TEXT,
        "status": TEXT,
        "reason": TEXT,
        "format": TEXT,
        "arguments": WHOLE,
        "winner": TEXT,
        "input_tokens": WHOLE,
        "output_tokens": WHOLE,
        "cost_usd": NUMBER,
        "created_at": TEXT,
        "updated_at": TEXT,
    },
    "turns": {
        "argument_id": TEXT,
        "debate_id": TEXT,
        "motion_id": TEXT,
        "seq": WHOLE,
        "round": WHOLE,
        "type": TEXT,
        "role": TEXT,
        "contestant": TEXT,
        "player": TEXT,
        "content": TEXT,
        "input_tokens": WHOLE,
        "output_tokens": WHOLE,
        "cost_usd": NUMBER,
        "latency_ms": WHOLE,
        "created_at": TEXT,
    },
}
READ_BYTES = 64 * 1024


def _shown(value: Any) -> Any:
    if isinstance(value, datetime):
        return time_json(value)
    return str(value) if isinstance(value, UUID) else value


def as_csv(what: str, pages: Iterable[list[Row]]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS[what])
    for page in pages:
        writer.writerows([_shown(row[name]) for name in COLUMNS[what]] for row in page)
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

    types = {TEXT: DataType.utf8(), NUMBER: DataType.float64(), WHOLE: DataType.int64()}
    columns = COLUMNS[what]
    schema = Schema([Field(name, types[kind], nullable=True) for name, kind in columns.items()])

    def batches() -> Iterator[RecordBatch]:
        for page in pages:
            arrays = [Array([_shown(row[name]) for row in page], type=types[kind]) for name, kind in columns.items()]
            yield RecordBatch.from_arrays(arrays, schema=schema)

    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        write_parquet(RecordBatchReader.from_batches(schema, batches()), file.name)
        with open(file.name, "rb") as written:
            while piece := written.read(READ_BYTES):
                yield piece
