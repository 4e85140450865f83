"""Imports: files of debates or judgments, and the responses to them."""

import csv
import io
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from app.core.errors import InvalidInput
from app.core.experiments.imported import NEEDED, OPTIONAL, ImportedJudgment, check_columns, judgment_of
from app.core.imports import ImportedDebate, TextLimits, debate_of, in_line
from app.http.answers import Id, answer_of
from app.http.json_bodies import parsed
from app.http.requests import Query, lines_file
from app.usecases.imports import Imported
from app.wire.experiments import ExperimentShape
from app.wire.shape import Shape
from app.wire.tables import text_of

JSON_LINES = ("application/x-ndjson", "application/jsonl")
MOST_BYTES = 8 * 2**20
MOST_DEBATES = 5_000
"""The most of one request, as are these bytes: `debate import` sends a large file in parts."""
MOST_JUDGMENTS = 200_000
"""The most judgments of one import in CSV."""
LONGEST_LINE = 20_000
"""In CSV."""


class ImportQuery(Query):
    first_line: int = Field(
        1, ge=1, le=2**31 - 1, description="The number of the first line in the whole file, for errors"
    )


class ExperimentQuery(ImportQuery):
    name: str = Field(min_length=1, max_length=100, pattern="^[^\\x00]*$")


class ImportedShape(Shape):
    id: str = Field(description="As the line has it")
    debate_id: Id


ImportAnswer = answer_of("Import", added=int, known=int, debates=list[ImportedShape])
ExperimentImportAnswer = answer_of(
    "ExperimentImport",
    experiment=ExperimentShape,
    added=Annotated[int | None, Field(description="null, like the next two fields, for CSV of judgments")],
    known=int | None,
    debates=list[ImportedShape] | None,
)
NO_COUNTS = dict.fromkeys(("added", "known", "debates"))

_DEBATES = (
    f"JSON lines in UTF-8, one debate a line, at most {MOST_DEBATES:,} of them and {MOST_BYTES // 2**20} MiB in a"
    " request; docs/judging.md lists the fields"
)
DEBATES_FILE = lines_file(
    f"{_DEBATES}.",
    '{"id": "d1", "motion": "Ban cars", "turns": [{"round": 1, "role": "proposer", "content": "They are loud."}]}\n',
)
EXPERIMENT_FILE = lines_file(
    f"With Content-Type application/x-ndjson: {_DEBATES}. With any other: CSV in UTF-8 with judgments. Columns:"
    f" {', '.join(NEEDED)}; optional: {', '.join(OPTIONAL)}.",
    "debate_id,motion_id,proposer,opponent,judge,winner\nd1,m1,a,b,j,proposer\n",
)


def is_lines(mimetype: str) -> bool:
    """Whether the body has debates, not judgments."""
    return mimetype in JSON_LINES


def counted(made: Imported) -> dict[str, Any]:
    debates = [{"id": name, "debate_id": str(debate_id)} for name, debate_id in made.debates.items()]
    return {"added": made.added, "known": made.known, "debates": debates}


def debates_in(body: bytes, first_line: int, limits: TextLimits) -> list[ImportedDebate]:
    if len(body) > MOST_BYTES:
        raise InvalidInput("body", f"has more than {MOST_BYTES:,} bytes: send the other lines in another request")
    found: list[ImportedDebate] = []
    for number, line in enumerate(io.BytesIO(body), first_line):
        if not line.strip():
            continue
        if len(found) == MOST_DEBATES:
            raise InvalidInput("body", f"has more than {MOST_DEBATES:,} debates: send the others in another request")
        with in_line(number):
            given = parsed(line, "debate")
        found.append(debate_of(number, given, limits))
    if not found:
        raise InvalidInput("body", "has no debates")
    return found


def judgments_in(body: bytes) -> list[ImportedJudgment]:
    """CSV with the columns of the export."""
    found: list[ImportedJudgment] = []
    try:
        reader = csv.DictReader(_short_lines(body), strict=True)
        check_columns(reader.fieldnames or ())
        for row in reader:
            if len(found) == MOST_JUDGMENTS:
                raise InvalidInput("body", f"has more than {MOST_JUDGMENTS:,} judgments")
            found.append(judgment_of(f"line {reader.line_num}", _texts(row)))
    except UnicodeDecodeError:
        raise InvalidInput("body", "is not UTF-8") from None
    except csv.Error as problem:
        raise InvalidInput(f"line {reader.line_num}", f"is not CSV: {problem}") from None
    if not found:
        raise InvalidInput("body", "has no judgments")
    return found


def _texts(row: dict[Any, Any]) -> dict[Any, Any]:
    """What is left over or lacking in a row is no text; `judgment_of` judges it."""
    return {name: text_of(cell) if isinstance(cell, str) else cell for name, cell in row.items()}


def _short_lines(body: bytes) -> Iterator[str]:
    """Decodes line by line, because decoding the whole body would block other requests."""
    for number, line in enumerate(io.TextIOWrapper(io.BytesIO(body), "utf-8-sig", newline=""), 1):
        if len(line) > LONGEST_LINE:
            raise InvalidInput(f"line {number}", f"has more than {LONGEST_LINE:,} characters")
        yield line
