"""Plain lines for people, JSON documents for programs. Imports nothing slow: every command module imports it."""

import json
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from app.cli.errors import CommandFailed
from app.wire.texts import BIDI_CONTROLS

Json = dict[str, Any]
_QUOTED_COMMAND = re.compile(r"(`|Example: |\$\(|://… )debate (?=[a-z])")
_RAW_IN_JSON = re.compile(f"[\x7f-\x9f\ud800-\udfff{BIDI_CONTROLS}]")


def program() -> str:
    """This command as its user typed it, for hints to copy: `debate`, or its path if the shell would not find it by
    name, as in a checkout (`./scripts/debate`)."""
    typed = sys.argv[0]
    name = Path(typed).name
    if name in ("", "-c", "__main__.py") or shutil.which(name) == typed:
        return "debate"
    return typed


def as_typed(text: str, name: str) -> str:
    """Names the program so in the commands that help or a suggestion of a server quotes."""
    return _QUOTED_COMMAND.sub(lambda found: f"{found[1]}{name} ", text)


def print_json(document: Any) -> None:
    sys.stdout.write(escaped(json.dumps(document, ensure_ascii=False, indent=2)) + "\n")


def escaped(document: str) -> str:
    """A JSON document without raw control characters: JSON itself requires only those below U+0020 to be escaped."""
    return _RAW_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", document)


def say(line: str) -> None:
    """A line on stdout."""
    _write(sys.stdout, line)


def note(line: str, indent: str = "") -> None:
    """A line on stderr, for people, not part of the result."""
    _write(sys.stderr, line, indent)


def columns(stream: TextIO) -> int | None:
    """The width of the terminal; None for a file or a pipe, which is neither wrapped nor cut."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def _write(stream: TextIO, text: str, indent: str = "") -> None:
    """Does not wrap lines that begin with a space: commands to copy, and parts of a list."""
    width = columns(stream)
    for line in clean(text).split("\n"):
        parts = [line] if width is None or line.startswith(" ") else wrapped(line, width - len(indent))
        stream.writelines(f"{indent}{part}\n" for part in parts)


def wrapped(line: str, width: int) -> list[str]:
    """Breaks at spaces only, and not inside ids, URLs and commands, so that they can be copied."""
    lines = [""]
    for blanks, piece in _piece().findall(line):
        if lines[-1] and len(lines[-1]) + len(blanks) + len(piece) > width:
            lines.append(piece)
        else:
            lines[-1] += blanks + piece
    return lines


def _piece() -> re.Pattern[str]:
    """Spaces, and what follows: a command in backticks, a command at the end of a line, or a word."""
    return re.compile(rf"(\s*)(`[^`]*`\S*|(?<=: ){re.escape(program())} .*|\S+)")


def already_exists(
    file: Path | str, advice: str = "Choose another name, or overwrite it with --force"
) -> CommandFailed:
    return CommandFailed(f"{file} already exists", suggestion=advice)


@contextmanager
def written(file: Path, force: bool) -> Iterator[BinaryIO]:
    """Exclusive unless forced: another program may have created the file in the meantime."""
    try:
        with file.open("wb" if force else "xb") as stream:
            yield stream
    except FileExistsError:
        raise already_exists(file) from None
    except OSError as problem:
        raise CommandFailed(f"{file} cannot be written: {problem.strerror}") from problem


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines with columns as wide as their longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def clean(text: str) -> str:
    """Removes control characters: a text from a debate must neither send escape sequences to the terminal nor reverse
    the direction of a line."""
    return "".join(letter for letter in text if letter in "\n\t" or not _is_control(letter))


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cs") or letter in BIDI_CONTROLS


def one_line(text: str) -> str:
    return " ".join(text.split())


def given(values: Json) -> Json:
    """Without the values that are None, for which the server has defaults."""
    return {name: value for name, value in values.items() if value is not None}
