"""The protocol of a peer's process: it reads its work as a line of JSON, writes "ready", reads "go", writes "done"."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Work:
    database_url: str
    debates: list[str]
    turns: int
    content: str
    at_once: int
    """Concurrent debates in this process; as many connections."""


def work() -> Work:
    told: dict[str, Any] = json.loads(sys.stdin.readline())
    return Work(**told)


def run(hold: Callable[[list[str]], None], debates: list[str]) -> None:
    """The imports, the connections and the first debates, on which statements are prepared, are before the clock."""
    hold([f"{debate}-before" for debate in debates[:WARM_UP]])
    _say("ready")
    assert sys.stdin.readline().strip() == "go"
    hold(debates)
    _say("done")


WARM_UP = 32


def _say(word: str) -> None:
    # A library may print too, so the reader accepts only a line with this word alone.
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
