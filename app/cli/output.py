"""Plain lines for people, JSON documents for programs. Imports nothing slow: every command module imports it."""

import json
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from app.cli.errors import CommandFailed
from app.wire.texts import BIDI_CONTROLS

Json = dict[str, Any]
_QUOTED_COMMAND = re.compile(r"(`|Example: |\$\(|://… )debate (?=[a-z])")
_RAW_IN_JSON = re.compile(f"[\x7f-\x9f\ud800-\udfff{BIDI_CONTROLS}]")


def program() -> str:
    """This command as its user typed it, for hints that can be copied: `debate`, or its path where the shell would not
    find it by name, as in a checkout (`./scripts/debate`)."""
    typed = sys.argv[0]
    name = Path(typed).name
    if name in ("", "-c", "__main__.py") or shutil.which(name) == typed:
        return "debate"
    return typed


def as_typed(text: str, name: str) -> str:
    """The commands that a text quotes, with the program named so: help, and what a server suggests, say `debate`."""
    return _QUOTED_COMMAND.sub(lambda found: f"{found[1]}{name} ", text)


def print_json(document: Any) -> None:
    sys.stdout.write(escaped(json.dumps(document, ensure_ascii=False, indent=2)) + "\n")


def escaped(document: str) -> str:
    """A JSON document without raw control characters: JSON itself requires only those below U+0020 to be escaped."""
    return _RAW_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", document)


def answer(document: Any, as_json: bool, lines: Iterable[str], nothing: str | None = None) -> None:
    """A command's result: the document for a program, or the lines for a person; `nothing` is noted where there are
    none. Lines that a generator makes are not made for a program, which may get from a newer server what has no words
    here."""
    if as_json:
        print_json(document)
        return
    is_any = False
    for line in lines:
        is_any = True
        say(line)
    if nothing and not is_any:
        note(nothing)


def say(line: str) -> None:
    """A line on stdout."""
    _write(sys.stdout, line)


def note(line: str, indent: str = "") -> None:
    """A line on stderr: for people, and not part of the result."""
    _write(sys.stderr, line, indent)


def columns(stream: TextIO) -> int | None:
    """Of the terminal that shows this; None for a file or a pipe, where nothing is wrapped or cut."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def _write(stream: TextIO, text: str, indent: str = "") -> None:
    """Lines that begin with a blank are commands to copy or parts of a list, and are left as they are."""
    width = columns(stream)
    for line in clean(text).split("\n"):
        parts = [line] if width is None or line.startswith(" ") else wrapped(line, width - len(indent))
        stream.writelines(f"{indent}{part}\n" for part in parts)


def wrapped(line: str, width: int) -> list[str]:
    """Broken at blanks only: ids, addresses and commands are left whole, to be copied."""
    lines = [""]
    for blanks, piece in _piece().findall(line):
        if lines[-1] and len(lines[-1]) + len(blanks) + len(piece) > width:
            lines.append(piece)
        else:
            lines[-1] += blanks + piece
    return lines


def _piece() -> re.Pattern[str]:
    """Blanks and what stands behind them: a command in backticks, one at the end of a line, or a word."""
    return re.compile(rf"(\s*)(`[^`]*`\S*|(?<=: ){re.escape(program())} .*|\S+)")


def already_exists(file: Path | str, advice: str) -> CommandFailed:
    return CommandFailed(f"{file} already exists", suggestion=advice)


@contextmanager
def written(file: Path | str, force: bool, advice: str = "Choose another name, or use --force") -> Iterator[BinaryIO]:
    """Exclusive unless forced: another program may have created the file in the meantime."""
    try:
        with Path(file).open("wb" if force else "xb") as stream:
            yield stream
    except FileExistsError:
        raise already_exists(file, advice) from None
    except OSError as problem:
        raise CommandFailed(f"{file} cannot be written: {problem.strerror}") from problem


def clean(text: str) -> str:
    """Removes control characters: a text from a debate must not send escape sequences to the terminal or reverse the
    direction of a line."""
    return "".join(letter for letter in text if letter in "\n\t" or not _is_control(letter))


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cs") or letter in BIDI_CONTROLS


def one_line(text: str) -> str:
    return " ".join(text.split())


def given(values: Json) -> Json:
    """Only what is not None: the rest is left to the server's defaults."""
    return {name: value for name, value in values.items() if value is not None}
