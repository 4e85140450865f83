"""`debate import`: debates that took place elsewhere, from a file with one JSON object a line.

The whole file is checked before the first part is sent. Each part is stored as a whole, and a debate that is known is
not added again: repeat the command to continue an import that was interrupted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli import output
from app.cli.command import CommandResult, Commands
from app.cli.content import MAX_BYTES, MAX_DOCUMENT_BYTES
from app.cli.errors import CommandFailed
from app.cli.options import connect
from app.words.counts import count

commands = Commands()
PART_BYTES = 4 * 2**20
PART_LINES = 1_000
MAX_LINE_BYTES = 8 * 2**20
"""The maximum of one request."""
DebatesFile = Annotated[Path, typer.Argument(help="JSON lines: one debate a line.", show_default=False)]


@dataclass(frozen=True)
class FilePart:
    first_line: int
    lines: list[bytes]


@commands.command("import")
def import_(file: DebatesFile) -> CommandResult:
    """Import debates that took place elsewhere, with their transcripts and judgments.

    Debates that were imported before are not added again, so you can repeat the command after an interruption.

    Example: debate import debates.jsonl
    """
    check_debates(file)
    document = send_debates(file, "/debates/import")
    return CommandResult(document, [counted(document)])


def counted(document: output.Json) -> str:
    return f"Imported {count(document['added'], 'debate')}; {document['known']:,} had been imported before."


def check_debates(file: Path) -> None:
    """Refuses the first mistake, before anything is sent. Only the server knows its limits of lengths."""
    from app.core.errors import DebateError
    from app.core.imports import TextLimits, debate_of

    limits, seen = TextLimits(MAX_BYTES, MAX_DOCUMENT_BYTES), dict[str, int]()
    for number, line in _lines(file):
        try:
            debate = debate_of(number, _parsed(file, number, line), limits)
        except DebateError as problem:
            raise CommandFailed(f"{file}, {problem.message}", field=problem.context.get("field")) from None
        if (first := seen.setdefault(debate.id, number)) != number:
            raise CommandFailed(f"{file}, line {number}, id: {debate.id!r} is also the id of line {first}", field="id")
    if not seen:
        raise CommandFailed(f"{file}, line 1: there are no debates")


def first_record(file: Path) -> Any:
    """None in an empty file."""
    return next((_parsed(file, number, line) for number, line in _lines(file)), None)


def send_debates(file: Path, path: str, **query: str) -> output.Json:
    """The last response, with the sums of what was added and what was known."""
    api = connect()
    data: output.Json = {}
    added = known = 0
    for part in _parts(file):
        content = b"".join(part.lines)
        data = api.post_content(
            path, content, "application/x-ndjson", repeatable=True, first_line=part.first_line, **query
        )
        added, known = added + data["added"], known + data["known"]
    return {**{name: value for name, value in data.items() if name != "debates"}, "added": added, "known": known}


def _parts(file: Path) -> Iterator[FilePart]:
    part, size = FilePart(1, []), 0
    for number, line in _lines(file):
        if part.lines and (len(part.lines) == PART_LINES or size + len(line) > PART_BYTES or _has_gap(part, number)):
            yield part
            part, size = FilePart(number, []), 0
        if not part.lines:
            part = FilePart(number, [])
        part.lines.append(line)
        size += len(line)
    if part.lines:
        yield part


def _has_gap(part: FilePart, number: int) -> bool:
    """Blank lines are not sent: the numbers of the lines after them would be wrong."""
    return number != part.first_line + len(part.lines)


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Those that are not blank, each with its number."""
    try:
        with file.open("rb") as stream:
            number = 0
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise CommandFailed(f"{file}, line {number}: has more than {MAX_LINE_BYTES:,} bytes")
                if line.strip():
                    yield number, line if line.endswith(b"\n") else line + b"\n"
    except OSError as problem:
        raise CommandFailed(f"{file} cannot be read: {problem.strerror}") from problem


def _parsed(file: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except UnicodeDecodeError:
        raise CommandFailed(f"{file}, line {number}: not UTF-8") from None
    except (ValueError, RecursionError) as problem:
        raise CommandFailed(f"{file}, line {number}: not JSON ({problem})") from None
