"""Debates in a terminal. Only functions import this module: rich takes long to import."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions, ConsoleOptions, Group, RenderResult
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from app.cli.output import Json, clean, one_line, say, wrapped
from app.cli.values import ending, judged
from app.core.debate import State, TurnType
from app.core.players import EXTERNAL
from app.wire.situations import schedule_of
from app.words import turns, verdicts
from app.words.counts import count
from app.words.judgments import ORDERS
from app.words.money import cost_in_list
from app.words.players import all_of, seat_name
from app.words.times import duration

SEAT_COLOURS = {"proposer": "cyan", "opponent": "magenta", "arbitrator": "yellow"}
STATUS_COLOURS = {
    "created": "blue",
    "running": "green",
    "paused": "yellow",
    "completed": "bright_black",
    "stopped": "bright_black",
    "failed": "red",
}

WIDE = 110

UNCUT = 100_000
"""Columns of a file or a pipe."""


class Uncut(Console):
    """Wraps and cuts in a terminal only: a file or a pipe gets complete lines and tables."""

    @property  # type: ignore[misc]
    def size(self) -> ConsoleDimensions:
        size = super().size
        return size if self.is_terminal else ConsoleDimensions(UNCUT, size.height)


out = Uncut(highlight=False)
err = Uncut(stderr=True, highlight=False)


def safe(text: str) -> str:
    """`clean`, and without rich's markup."""
    return escape(clean(text))


@dataclass
class Indented:
    """A text indented by two spaces. Wrapped in a terminal only."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for paragraph in clean(self.text).rstrip().split("\n"):
            for line in self._lines(paragraph.rstrip(), console, options.max_width - 2):
                yield Segment(f"  {line}\n" if line else "\n")

    def _lines(self, paragraph: str, console: Console, width: int) -> list[str]:
        if not console.is_terminal:
            return [paragraph]
        if cell_len(paragraph) == len(paragraph):
            return wrapped(paragraph, width)
        # Languages with wide letters have no spaces between words.
        return [line.plain.rstrip() for line in Text(paragraph).wrap(console, width)]


def heading(title: str, details: str, style: str = "") -> Text:
    return Text.assemble((title, f"bold {style}"), (f"  {details}" if details else "", "dim"))


def print_argument(argument: Json, with_id: bool = False) -> None:
    if argument["type"] == TurnType.MOTION:
        out.print(Group(heading("Motion", ""), Indented(argument["content"]), ""), crop=False)
        return
    player = "" if argument["player"] == EXTERNAL else clean(argument["player"])
    if argument["agent"]:
        player = clean(argument["agent"]["username"])
    parts = (turns.kind(argument["type"]), player, argument["id"] if with_id else "")
    details = "  ".join(part for part in parts if part)
    title = heading(seat_name(argument["role"]).capitalize(), details, SEAT_COLOURS[argument["role"]])
    verdict = Text(f"  {judged(argument)}\n" if argument["verdict"] else "", style="bold")
    reasons = reasons_beside(argument)
    said = f"{argument['content'].rstrip()}\n\n{reasons}" if reasons else argument["content"]
    out.print(Group(title, Indented(said), verdict), crop=False)


def round_title(number: int, of: int | None) -> Text:
    return Text(f"{turns.round_of(number, of)}\n", style="bold underline")


@contextmanager
def spinner(text: str, hidden: bool) -> Iterator[Callable[[str], None]]:
    """Shows a spinner; yields a function that changes its text.

    If stdout is a terminal, it is there, and rich keeps it below the printed arguments.
    """
    console = out if out.is_terminal else err
    if hidden or not console.is_terminal:
        yield lambda _: None
        return
    with console.status(text) as status:
        yield lambda changed: status.update(safe(changed))


def verdict_table(debate: Json) -> Group | None:
    """The verdict of the whole debate, and the standing of its rounds."""
    verdict, standing = debate["verdict"], debate.get("standing")
    if verdict is None and standing is None:
        return None
    table = Table()
    for column in ("", "proposer", "opponent"):
        table.add_column(column, style=SEAT_COLOURS.get(column, ""), justify="left" if not column else "right")
    if standing:
        table.add_row(verdicts.mean_of(standing["rounds"]), *_by_side(standing["scores"]))
    if verdict is None:
        return Group(Text("Standing (the whole debate was not judged)", style="bold"), table)
    table.add_row("whole debate", *_by_side(verdict["scores"]))
    crown = {role: "✓" if verdict["winner"] == role else "" for role in ("proposer", "opponent")}
    if verdict["winner"] == "tie":
        crown = {"proposer": "tie", "opponent": "tie"}
    table.add_row("winner", crown["proposer"], crown["opponent"])
    for order, said in (verdict.get("orders") or {}).items():
        table.add_row(ORDERS.get(order, order), *_by_side(said["scores"]))
    return Group(Text("Verdict", style="bold"), table)


def _by_side(scores: Json) -> tuple[str, str]:
    shown = verdicts.scores(scores)
    return shown["proposer"], shown["opponent"]


def print_end(debate: Json, shown: list[Json], with_totals: bool = False) -> None:
    """Prints the result, and the judge's reasons unless the last shown argument has them."""
    table = verdict_table(debate)
    if table is not None:
        out.print(table)
    reasons = (debate["verdict"] or {}).get("reasoning") or ""
    if reasons and not any(_has_said(argument, reasons) for argument in shown[-1:]):
        out.print(Indented(reasons), crop=False)
    say(f"\n{ending(debate)}" if with_totals else ending(debate))
    if with_totals:
        say(totals(debate))
        # On a separate line, so that no terminal breaks it.
        out.print(f"[dim]{debate['id']}[/]", soft_wrap=True)


def totals(debate: Json) -> str:
    """Rounds, tokens, cost and time."""
    usage = debate["usage"]
    began, ended = (datetime.fromisoformat(debate[name]) for name in ("created_at", "updated_at"))
    tokens = usage["input_tokens"] + usage["output_tokens"]
    rounds = [count(debate["rounds_completed"], "round")] if debate["rounds_completed"] else []
    return ", ".join(
        [*rounds, count(tokens, "token"), cost_in_list(usage["cost_usd"]), duration((ended - began).total_seconds())]
    )


def reasons_beside(ruling: Json) -> str:
    """The reasons of a verdict, unless the text of its ruling has them."""
    reasons = ((ruling["verdict"] or {}).get("reasoning") or "").strip()
    return "" if reasons in ruling["content"] else reasons


def _has_said(argument: Json, reasons: str) -> bool:
    return reasons.strip() in argument["content"] or reasons == (argument["verdict"] or {}).get("reasoning")


def print_debates(debates: list[Json]) -> None:
    """One line each. In a terminal the lines fit: title and players get the rest of the width, and a narrow terminal
    shows neither rounds nor the next seat."""
    is_narrow = out.is_terminal and out.width < WIDE
    digits = shortest_unique([debate["id"] for debate in debates])
    rows = [{name: name for name in COLUMNS}, *(_row(debate, digits) for debate in debates)]
    columns = [name for name in COLUMNS if not (is_narrow and name in ("rounds", "next"))]
    widths = {name: max(len(row[name]) for row in rows) for name in columns}
    if out.is_terminal:
        widths |= _fitted(widths, out.width)
    for row in rows:
        line = Text(style="bold" if row is rows[0] else "")
        for name in columns:
            cell = Text(row[name], STATUS_COLOURS.get(row[name], "") if name == "status" else "")
            cell.truncate(widths[name], overflow="ellipsis", pad=True)
            line.append_text(cell).append("  ")
        line.rstrip()
        out.print(line, soft_wrap=True)


COLUMNS = ("id", "status", "rounds", "next", "winner", "updated", "players", "title")
FEWEST_DIGITS = 8
LONGEST_PLAYERS = 60


def _fitted(widths: dict[str, int], width: int) -> dict[str, int]:
    """Players get at most a third of the rest."""
    left = width - sum(length + 2 for name, length in widths.items() if name not in ("players", "title"))
    players = min(widths["players"], LONGEST_PLAYERS, max(left // 3, 8))
    return {"players": players, "title": max(left - players - 2, 8)}


def shortest_unique(ids: list[str]) -> int:
    """The number of first characters that distinguish these ids."""
    different = len(set(ids))
    longest = max(map(len, ids), default=FEWEST_DIGITS)
    return next(
        (length for length in range(FEWEST_DIGITS, longest) if len({each[:length] for each in ids}) == different),
        longest,
    )


def _row(debate: Json, digits: int) -> dict[str, str]:
    is_open = debate["state"] != State.CLOSED
    return {
        "id": debate["id"][:digits],
        "status": debate["status"],
        "rounds": _rounds(debate),
        "next": debate["state"].removeprefix("AWAITING_").replace("_", " ").lower() if is_open else "",
        "winner": (debate["verdict"] or {}).get("winner", ""),
        "updated": _age(debate["updated_at"]),
        "players": _players(debate),
        "title": one_line(clean(debate["title"])) + _trouble(debate),
    }


def _players(debate: Json) -> str:
    """Models without their provider."""
    names = {role: clean(seat["player"]).rpartition(":")[2] for role, seat in debate["seats"].items()}
    return all_of(schedule_of(debate), names)


def _trouble(debate: Json) -> str:
    """The last error, with the number of failed attempts if there are any."""
    if not debate["last_error"]:
        return ""
    attempts = f"attempt {debate['attempts']} failed: " if debate["attempts"] else ""
    return f"  ({attempts}{one_line(clean(debate['last_error']))})"


def _rounds(debate: Json) -> str:
    most = debate["limits"]["max_rounds"]
    return f"{debate['rounds_completed']}/{most}" if most else str(debate["rounds_completed"])


def _age(moment: str) -> str:
    return duration((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())
