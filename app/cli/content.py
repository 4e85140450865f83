"""The texts that a command sends: from an option, a file or standard input."""

import sys
from pathlib import Path
from typing import BinaryIO

from app.cli.errors import CommandFailed, Exit
from app.cli.output import Json, given

MAX_BYTES = 1_000_000
"""The maximum of DEBATE_MAX_CONTENT_LENGTH. A server with a lower limit names it in its response."""
MAX_DOCUMENT_BYTES = 16_777_216
"""The maximum of DEBATE_MAX_DOCUMENT_LENGTH."""
TITLE_LENGTH = 200


def content_of(content: str | None, file: Path | None, stdin: bool, max_bytes: int = MAX_BYTES) -> str | None:
    """The text unchanged, including a final newline; None if none was given."""
    text = _given(content, file, stdin, max_bytes)
    if text is not None and not text.strip():
        raise CommandFailed("The text is empty")
    return text


def _given(content: str | None, file: Path | None, stdin: bool, max_bytes: int) -> str | None:
    if sum((content is not None, file is not None, stdin)) > 1:
        raise CommandFailed("More than one text was given", Exit.USAGE, "Use only one of --content, --file, --stdin")
    if content is not None:
        return checked(content, "--content")
    if file is not None:
        try:
            with file.open("rb") as stream:
                return _read(stream, str(file), max_bytes)
        except OSError as problem:
            raise CommandFailed(f"{file} cannot be read: {problem.strerror}") from problem
    if stdin:
        if sys.stdin.isatty():
            sys.stderr.write("Type the text, then press Ctrl-D on an empty line.\n")
        return _read(sys.stdin.buffer, "Standard input", max_bytes)
    return None


def checked(text: str, where: str) -> str:
    """Python passes bytes that are not UTF-8 on the command line as lone surrogates."""
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise CommandFailed(f"{where} is not valid UTF-8")
    return text


def _read(stream: BinaryIO, where: str, max_bytes: int) -> str:
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise CommandFailed(f"{where} is larger than {max_bytes:,} bytes, which no server accepts")
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise CommandFailed(f"{where} is not valid UTF-8: byte {problem.start} is {data[problem.start]:#04x}") from None


def material_of(
    document: Path | None, visible_to: list[str] | None, answers: tuple[str | None, str | None], correct: str | None
) -> Json | None:
    """The material of a debate, as the API takes it. `answers` are the proposer's and the opponent's."""
    if answers.count(None) == 1:
        raise CommandFailed(
            "Only one answer was given", Exit.USAGE, "Give both --proposer-answer and --opponent-answer"
        )
    if visible_to and document is None:
        raise CommandFailed("--visible-to was given without a document", Exit.USAGE, "Give it with --document FILE")
    text = content_of(None, document, False, MAX_DOCUMENT_BYTES)
    by_side = None if None in answers else dict(zip(("proposer", "opponent"), answers, strict=True))
    return given({"document": text, "visible_to": visible_to or None, "answers": by_side, "correct": correct}) or None


def title_of(motion: str) -> str:
    """The first line of the motion, without the # of a Markdown heading."""
    title = " ".join(motion.strip().split("\n", 1)[0].lstrip("#").split()) or " ".join(motion.split())
    return title if len(title) <= TITLE_LENGTH else title[: TITLE_LENGTH - 1] + "…"
