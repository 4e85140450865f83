"""The text that a command sends: its own argument, a file, or standard input."""

import sys
from pathlib import Path
from typing import BinaryIO

from app.cli.errors import CommandFailed, Exit

MOST_BYTES = 1_000_000
"""No server takes more (DEBATE_MAX_CONTENT_LENGTH); its own limit is in its answer."""
TITLE_LENGTH = 200


def content_of(content: str | None, file: Path | None, stdin: bool) -> str:
    text = optional_content_of(content, file, stdin)
    if text is None:
        raise CommandFailed("There is no text", Exit.USAGE, "Give it with --content, --file or --stdin")
    return text


def optional_content_of(content: str | None, file: Path | None, stdin: bool) -> str | None:
    """As it is, to the last newline."""
    text = _given(content, file, stdin)
    if text is not None and not text.strip():
        raise CommandFailed("The text is empty")
    return text


def _given(content: str | None, file: Path | None, stdin: bool) -> str | None:
    if sum((content is not None, file is not None, stdin)) > 1:
        raise CommandFailed("--content, --file and --stdin exclude each other", Exit.USAGE, "Give one of them")
    if content is not None:
        return checked(content, "--content")
    if file is not None:
        try:
            with file.open("rb") as stream:
                return _read(stream, str(file))
        except OSError as problem:
            raise CommandFailed(f"{file} cannot be read: {problem.strerror}") from problem
    if stdin:
        if sys.stdin.isatty():
            sys.stderr.write("Type the text; Ctrl-D on a line of its own ends it.\n")
        return _read(sys.stdin.buffer, "The standard input")
    return None


def checked(text: str, where: str) -> str:
    """What is not UTF-8 on the command line comes as lone surrogates."""
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise CommandFailed(f"{where} is not valid UTF-8")
    return text


def _read(stream: BinaryIO, where: str) -> str:
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise CommandFailed(f"{where} holds more than {MOST_BYTES:,} bytes, and no server takes that much")
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise CommandFailed(f"{where} is not valid UTF-8: byte {problem.start} is {data[problem.start]:#04x}") from None


def title_of(motion: str) -> str:
    title = " ".join(motion.split())
    return title if len(title) <= TITLE_LENGTH else title[: TITLE_LENGTH - 1] + "…"
