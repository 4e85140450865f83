"""The files of an experiment: YAML with the line of each part, and motion sets as JSON lines, CSV or YAML.

All files are read and checked before the first request. An error names the file and the line.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cli.errors import CommandFailed
from app.cli.formats import chosen, is_file, read_format
from app.core.experiments.given import given_spec_of, refuse_unused_documents
from app.core.experiments.motions import FIELDS, Motion, motion_of
from app.core.experiments.spec import Place, Spec, SpecProblem, format_names
from app.core.players import why_unknown
from app.core.schedules import BUILT_IN, Schedule
from app.words.counts import count

MAX_BYTES = 100_000_000
"""Of a motion set. All motions are in memory while they are checked."""
MAX_SPEC_BYTES = 8_000_000
MAX_NODES = 200_000
Rows = Iterator[tuple[int, Any]]
"""Each record with its line."""


@dataclass(frozen=True)
class ExperimentFile:
    spec: Spec
    document: dict[str, Any]
    """The spec as it is sent: without its motions."""
    motions: list[Motion]
    path: Path
    line_of: Callable[[Place], int]
    formats: list[Schedule]
    """From files: to be added first."""

    def line_of_field(self, field: str) -> int | None:
        """The line of a field that the server has named, such as `contestants.0.player`; None if the file lacks it."""
        place = tuple(int(part) if part.isdigit() else part for part in field.split("."))
        return self.line_of(place) if place[0] in self.document else None


def read_experiment(path: Path) -> ExperimentFile:
    document, line_of = _yaml(path, MAX_SPEC_BYTES)
    read = _formats_in_files(document, path.parent)
    with _placed(path, line_of):
        known = {schedule.name: schedule for schedule in read}
        names = format_names(document) - known.keys() - BUILT_IN.keys()
        spec = given_spec_of(document, {**BUILT_IN, **known, **_of_server(names)})
    if spec.budget_usd is not None:
        _require_prices(path, spec, line_of)
    given = document.get("motions")
    if isinstance(given, str):
        motions = read_motions(path.parent / given)
    else:
        motions = _motions_in(path, given, lambda place: line_of(("motions", *place)), line_of(("motions",)))
    with _placed(path, line_of):
        refuse_unused_documents(document, spec, motions)
    sent = {key: value for key, value in document.items() if key != "motions"}
    return ExperimentFile(spec, sent, motions, path, line_of, read)


def _of_server(names: set[str]) -> dict[str, Schedule]:
    """Without those that it lacks: the spec's error has the line."""
    found = {}
    for name in names:
        with suppress(CommandFailed):
            found[name] = chosen(name)
    return found


def _formats_in_files(document: Any, folder: Path) -> list[Schedule]:
    """Of the spec and its arms. In the document the name takes the place of the path."""
    arms = document.get("arms") if isinstance(document, dict) else None
    stated = [document, *(arms.values() if isinstance(arms, dict) else ())]
    read = []
    for rules in stated:
        given = rules.get("format") if isinstance(rules, dict) else None
        if isinstance(given, str) and is_file(given):
            read.append(read_format(folder / given))
            rules["format"] = read[-1].name
    return read


def read_motions(path: Path) -> list[Motion]:
    """The suffix of the file sets its format: .jsonl, .csv, .yaml."""
    readers: dict[str, Callable[[Path], Rows]] = {
        **dict.fromkeys((".jsonl", ".ndjson"), json_lines),
        **dict.fromkeys((".yaml", ".yml"), _yaml_motions),
        ".csv": _csv_motions,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise CommandFailed(f"{path} is no motion set: its name ends in .jsonl, .csv or .yaml")
    return _checked(path, reader(path))


def _checked(path: Path, records: Rows) -> list[Motion]:
    seen: dict[str, int] = {}
    found = []
    for line, record in records:
        try:
            motion = motion_of(record)
        except SpecProblem as problem:
            raise CommandFailed(f"{path}, line {line}: {problem.message}") from None
        if motion.id in seen:
            raise CommandFailed(
                f"{path}, line {line}: the motion id {motion.id!r} is already used in line {seen[motion.id]}"
            )
        seen[motion.id] = line
        found.append(motion)
    if not found:
        raise CommandFailed(f"{path}, line 1: there are no motions")
    return found


def _motions_in(path: Path, given: Any, line_of: Callable[[Place], int], first_line: int) -> list[Motion]:
    if given is None:
        raise CommandFailed(f"{path}, line 1: motions are missing: name a file, or list them")
    if not isinstance(given, list):
        raise CommandFailed(f"{path}, line {first_line}: motions must be a file's name or a list")
    if not given:
        raise CommandFailed(f"{path}, line {first_line}: there are no motions")
    return _checked(path, ((line_of((number,)), record) for number, record in enumerate(given)))


def _require_prices(path: Path, spec: Spec, line_of: Callable[[Place], int]) -> None:
    from app.models.table import has_price

    for place, player in spec.players.items():
        # Only the server knows its endpoints: it refuses the others, and `run` adds the line.
        if why_unknown(player) is None and not has_price(player):
            raise CommandFailed(
                f"{path}, line {line_of(place)}: no price is known for {player}, so a budget cannot be kept",
                suggestion="Leave budget_usd out, or choose a model whose price is known",
            )


def read_bytes(path: Path, max_bytes: int) -> bytes:
    try:
        size = path.stat().st_size
        if size > max_bytes:
            raise CommandFailed(f"{path} has {size:,} bytes, and the maximum is {max_bytes:,}; split it")
        return path.read_bytes()
    except OSError as problem:
        raise CommandFailed(f"{path} cannot be read: {problem.strerror}") from problem


def read_text(path: Path, max_bytes: int) -> str:
    data = read_bytes(path, max_bytes)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        raise CommandFailed(f"{path}, line {line}: not UTF-8 (the byte {data[problem.start]:#04x})") from None


def json_lines(path: Path, max_bytes: int = MAX_BYTES) -> Rows:
    for number, line in enumerate(read_text(path, max_bytes).split("\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as problem:
                raise CommandFailed(f"{path}, line {number}: not JSON ({problem})") from None


def csv_rows(path: Path, check: Callable[[list[str]], None], max_bytes: int = MAX_BYTES) -> Rows:
    """`check` refuses wrong columns."""
    csv.field_size_limit(max_bytes)
    reader = csv.reader(io.StringIO(read_text(path, max_bytes), newline=""), strict=True)
    try:
        columns = next(reader, [])
        check(columns)
        while True:
            line = reader.line_num + 1
            row = next(reader, None)
            if row is None:
                return
            if not any(row):
                continue
            if len(row) != len(columns):
                what = f"{count(len(row), 'column')} where the first line has {len(columns)}"
                raise CommandFailed(f"{path}, line {line}: {what}")
            yield line, dict(zip(columns, row, strict=True))
    except csv.Error as problem:
        raise CommandFailed(f"{path}, line {reader.line_num}: not CSV ({problem})") from None


def check_columns(where: str, columns: list[str], known: Iterable[str], needed: Iterable[str], record: str) -> None:
    """`record` is the beginning of a sentence that lists the known columns, such as "a motion has"."""
    known = list(known)
    for name in columns:
        if name not in known:
            raise CommandFailed(f"{where}: unknown column {name!r}: {record} {', '.join(known)}")
        if columns.count(name) > 1:
            raise CommandFailed(f"{where}: the column {name!r} is repeated")
    for name in needed:
        if name not in columns:
            raise CommandFailed(f"{where}: the column {name!r} is missing")


def _csv_motions(path: Path) -> Rows:
    needed = ("id", "motion")
    return csv_rows(path, lambda names: check_columns(f"{path}, line 1", names, FIELDS, needed, "a motion has"))


def _yaml_motions(path: Path) -> Rows:
    document, line_of = _yaml(path, MAX_BYTES)
    before: Place = ()
    if isinstance(document, dict) and "motions" in document:
        for key in document:
            if key != "motions":
                raise CommandFailed(
                    f"{path}, line {line_of((str(key),))}: unknown key {key!r}: a motion set has motions"
                )
        document, before = document["motions"], ("motions",)
    if not isinstance(document, list):
        raise CommandFailed(f"{path}, line 1: a motion set is a list of motions")
    yield from ((line_of((*before, number)), record) for number, record in enumerate(document))


def _yaml(path: Path, max_bytes: int) -> tuple[Any, Callable[[Place], int]]:
    """The document, and the line of each of its places."""
    import yaml

    loader = yaml.SafeLoader(read_text(path, max_bytes))
    try:
        node = loader.get_single_node()
        lines: dict[Place, int] = {}
        _mark(path, node, (), lines)
        document = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise CommandFailed(f"{path}, line {mark.line + 1 if mark else 1}: not YAML ({problem.problem})") from None
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise CommandFailed(f"{path}, line 1: not YAML ({problem})") from None
    finally:
        loader.dispose()

    def line_of(place: Place) -> int:
        while place not in lines and place:
            place = place[:-1]
        return lines.get(place, 1)

    return document, line_of


def _mark(path: Path, node: Any, place: Place, lines: dict[Place, int]) -> None:
    """Records the line of each place. Refuses a repeated key, of which YAML would silently use the last."""
    import yaml

    if node is None:
        return
    if len(lines) > MAX_NODES:
        raise CommandFailed(f"{path}, line {node.start_mark.line + 1}: more than {MAX_NODES:,} parts; use JSON lines")
    lines[place] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            _mark(path, child, (*place, number), lines)
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            inner = (*place, str(key.value))
            if inner in lines:
                raise CommandFailed(f"{path}, line {key.start_mark.line + 1}: the key {key.value!r} is repeated")
            _mark(path, child, inner, lines)
            lines[inner] = key.start_mark.line + 1


@contextmanager
def _placed(path: Path, line_of: Callable[[Place], int]) -> Iterator[None]:
    """Turns a SpecProblem into an error with file and line."""
    try:
        yield
    except SpecProblem as problem:
        raise CommandFailed(f"{path}, line {line_of(problem.place)}: {problem.message}") from None
