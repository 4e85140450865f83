"""A program in a terminal, recorded as it prints: what the screen shows, and when."""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_SEQUENCE = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])")
_UNFINISHED = re.compile(r"\x1b(?:\[\??[\d;]*)?$")


@dataclass(frozen=True)
class Cell:
    letter: str
    style: frozenset[str]
    """Numbers of ANSI's "select graphic rendition" that are on."""


@dataclass
class Screen:
    """What the few sequences that `debate` prints do to a terminal."""

    lines: list[list[Cell]] = field(default_factory=lambda: [[]])
    row: int = 0
    column: int = 0
    style: frozenset[str] = frozenset()

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text):
            found = _SEQUENCE.match(text, at)
            if found:
                self._obey(found[1], found[2])
                at = found.end()
            else:
                self._put(text[at])
                at += 1

    def visible(self, rows: int) -> tuple[tuple[Cell, ...], ...]:
        return tuple(tuple(line) for line in self.lines[-rows:])

    def _put(self, letter: str) -> None:
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append([])
        else:
            line = self.lines[self.row]
            line += [Cell(" ", frozenset())] * (self.column + 1 - len(line))
            line[self.column] = Cell(letter, self.style)
            self.column += 1

    def _obey(self, numbers: str, command: str) -> None:
        if command == "m":
            codes = numbers.split(";") if numbers else ["0"]
            self.style = frozenset() if "0" in codes else self.style | set(codes)
        elif command == "A":
            self.row = max(0, self.row - int(numbers or 1))
        elif command == "K":
            self.lines[self.row] = [] if numbers == "2" else self.lines[self.row][: self.column]
        elif command not in ("h", "l"):
            raise ValueError(f"the recorder does not know the sequence {numbers}{command}")


@dataclass(frozen=True)
class Frame:
    seconds: float
    lines: tuple[tuple[Cell, ...], ...]


def record(
    command: Sequence[str], environment: Mapping[str, str], directory: Path, size: tuple[int, int]
) -> tuple[list[Frame], int]:
    """The frames, and how the program ended. `size` is rows and columns."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(directory)
        os.execvpe(command[0], list(command), {**environment, "TERM": "xterm-256color"})  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    decoder = codecs.getincrementaldecoder("utf-8")()
    screen, frames, unread = Screen(), [Frame(0, ())], ""
    began: float | None = None
    while True:
        select.select([terminal], [], [])
        try:
            unread += decoder.decode(os.read(terminal, 65_536))
        except OSError:
            break
        began = began or time.monotonic()
        # A sequence that is not whole yet waits for its end.
        whole = unread[: unread.rindex("\x1b")] if _UNFINISHED.search(unread) else unread
        unread = unread[len(whole) :]
        screen.feed(whole)
        lines = screen.visible(size[0] - 1)
        if lines != frames[-1].lines:
            frames.append(Frame(time.monotonic() - began, lines))
    _, status = os.waitpid(child, 0)
    return frames, os.waitstatus_to_exitcode(status)
