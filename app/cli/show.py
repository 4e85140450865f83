"""What people see. Their words go to stdout in a terminal; with --json, stdout is for one JSON document only."""

import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

Json = dict[str, Any]

SEAT_COLOURS = {"proposer": "cyan", "opponent": "magenta", "arbitrator": "yellow"}
STATUS_COLOURS = {
    "created": "blue",
    "running": "green",
    "paused": "yellow",
    "completed": "bright_black",
    "stopped": "bright_black",
    "failed": "red",
}

ROOMY_WIDTH = 110
BIDI_CONTROLS = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def clean(text: str) -> str:
    """Other people's words: no escape sequence of theirs reaches the terminal, and none turns the line around."""
    return "".join(letter for letter in text if letter in "\n\t" or not _is_control(letter))


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cs") or letter in BIDI_CONTROLS


def one_line(text: str) -> str:
    return " ".join(text.split())


def safe(text: str) -> str:
    """The same, for a place where rich would read markup."""
    return escape(clean(text))


@dataclass
class Indented:
    """Somebody's words, two spaces in: wrapped for a terminal, in lines as long as they are for anything else."""

    words: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for paragraph in clean(self.words).rstrip().split("\n"):
            text = Text(paragraph.rstrip())
            for line in text.wrap(console, options.max_width - 2) if console.is_terminal else [text]:
                line.rstrip()
                yield Segment(f"  {line.plain}\n" if line.plain else "\n")


def say(line: str) -> None:
    """A line of ours, as long as it is: it can be copied whole."""
    out.print(Text(clean(line)), soft_wrap=True)


def argument_lines(argument: Json, with_id: bool = False) -> Group:
    title = Text(argument["role"].capitalize(), style=f"bold {SEAT_COLOURS[argument['role']]}")
    kind = "" if argument["type"] in ("CLAIM", "RULING") else argument["type"].lower()
    player = "" if argument["player"] == "external" else clean(argument["player"])
    if argument["agent"]:
        player = clean(argument["agent"]["username"])
    argument_id = argument["id"] if with_id else ""
    title.append("".join(f"  {detail}" for detail in (kind, player, argument_id) if detail), style="dim")
    return Group(title, Indented(argument["content"]), "")


def motion_lines(argument: Json) -> Group:
    return Group(Text("Motion", style="bold"), Indented(argument["content"]), "")


def round_title(number: int, of: int | None) -> Text:
    return Text(f"Round {number} of {of}\n" if of else f"Round {number}\n", style="bold underline")


@contextmanager
def spinner(words: str, hidden: bool) -> Iterator[Callable[[str], None]]:
    """Turns while something takes its time; gives a function that changes its words.

    On the console that the turns are printed on, where that is a terminal: rich then moves it below what is printed.
    """
    console = out if out.is_terminal else err
    if hidden or not console.is_terminal:
        yield lambda _: None
        return
    with console.status(words) as status:
        yield lambda changed: status.update(safe(changed))


def verdict_table(debate: Json) -> Group | None:
    verdict = debate["verdict"]
    if verdict is None:
        return None
    table = Table()
    for column in ("", "proposer", "opponent"):
        table.add_column(column, style=SEAT_COLOURS.get(column, ""), justify="left" if not column else "right")
    scores = verdict["scores"]
    table.add_row("score", f"{scores['proposer']:g}", f"{scores['opponent']:g}")
    crown = {role: "✓" if verdict["winner"] == role else "" for role in ("proposer", "opponent")}
    if verdict["winner"] == "tie":
        crown = {"proposer": "tie", "opponent": "tie"}
    table.add_row("winner", crown["proposer"], crown["opponent"])
    for order, said in verdict.get("orders", {}).items():
        scores = said["scores"]
        table.add_row(order.replace("_", " "), f"{scores['proposer']:g}", f"{scores['opponent']:g}")
    return Group(Text("Verdict", style="bold"), table)


def ending(debate: Json) -> str:
    words = {
        "max_rounds": "all rounds were held",
        "time_limit": "its time ran out",
        "token_limit": "its tokens were used up",
        "cost_limit": "its budget was used up",
        "judge_early_stop": "the judge found it decided",
        "manual_stop": "it was stopped by hand",
        "ruling": "a ruling closed it",
        "resolution": "the proposer asked for completion",
    }
    reason = words.get(debate["stop_reason"] or "", debate["stop_reason"] or "")
    if debate["status"] == "failed":
        return f"The debate failed: {clean(debate['last_error'] or 'no reason was recorded')}"
    return f"The debate is {debate['status']}: {reason}."


def has_ended(debate: Json) -> bool:
    return bool(debate["state"] == "CLOSED" or debate["status"] == "failed")


def print_end(debate: Json) -> None:
    table = verdict_table(debate)
    if table is not None:
        out.print(table)
    say(ending(debate))


def print_debates(debates: list[Json]) -> None:
    """A line each. A terminal gets them cut to its width, a narrow one without the next speaker; a file gets all."""
    is_narrow = out.is_terminal and out.width < ROOMY_WIDTH
    rows = [{"id": "id", "status": "status", "rounds": "rounds", "next": "next", "age": "updated", "title": "title"}]
    rows += [_row(debate) for debate in debates]
    columns = [column for column in rows[0] if column != "title" and not (is_narrow and column == "next")]
    widths = {column: max(len(row[column]) for row in rows) for column in columns}
    for row in rows:
        line = Text(style="bold" if row is rows[0] else "")
        for column in columns:
            style = STATUS_COLOURS.get(row[column], "") if column == "status" else ""
            line.append(row[column].ljust(widths[column]) + "  ", style)
        line.append(row["title"])
        if out.is_terminal:
            line.truncate(out.width, overflow="ellipsis")
        out.print(line, soft_wrap=True)


def _row(debate: Json) -> dict[str, str]:
    is_open = debate["state"] != "CLOSED"
    return {
        "id": debate["id"],
        "status": debate["status"],
        "rounds": _rounds(debate),
        "next": debate["state"].removeprefix("AWAITING_").replace("_", " ").lower() if is_open else "",
        "age": _age(debate["updated_at"]),
        "title": one_line(clean(debate["title"])) + _trouble(debate),
    }


def _trouble(debate: Json) -> str:
    """Attempts that failed, and what the last of them met; also what a debate waits for."""
    if not debate["last_error"]:
        return ""
    count = f"attempt {debate['attempts']} failed: " if debate["attempts"] else ""
    return f"  ({count}{one_line(clean(debate['last_error']))})"


def _rounds(debate: Json) -> str:
    most = debate["limits"]["max_rounds"]
    return f"{debate['rounds_completed']}/{most}" if most else str(debate["rounds_completed"])


def _age(moment: str) -> str:
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
