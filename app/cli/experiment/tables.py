"""Results of an experiment as text, for a terminal or a file."""

import sys
from collections.abc import Iterator, Sequence

from app.cli.output import Json, clean, columns
from app.wire import figures
from app.words.experiments import missing
from app.words.results import ARMS_SAY, MOTIONS_NEEDED, SWING_SAYS, no_ratings, others, rests_on

WIDTH = 80
"""The width of sentences, and of tables in a narrower terminal."""
PLOT_WIDTH = 44
NAME_WIDTH = 24


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: int = 1) -> Iterator[str]:
    """Columns as wide as their longest cell. The first `left` columns are names, aligned to the left. In a terminal the
    widest column is cut to fit; cut names stay distinct."""
    cells = [header, *[tuple(clean(cell) for cell in row) for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    terminal = columns(sys.stdout)
    while terminal is not None and sum(widths) + 2 * (len(widths) - 1) > max(terminal, WIDTH):
        widest = widths.index(max(widths))
        widths[widest] -= 1
    names = [figures.told_apart([row[column] for row in cells[1:]], widths[column]) for column in range(left)]
    for row in cells:
        shown = [
            figures.shortened(names[column].get(cell, cell), width).ljust(width)
            if column < left
            else figures.shortened(cell, width).rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(shown).rstrip()


def results_text(found: Json, plot: bool = False) -> Iterator[str]:
    yield from ratings_text(found, plot)
    yield from _matrix_text(found)
    yield from _sides_text(found)
    yield from _judges_text(found)
    yield from differences_text(found)
    yield from _calibration_text(found)
    yield from _beliefs_text(found)
    yield from _costs_text(found)
    yield from _notes_text(found)


def ratings_text(found: Json, plot: bool = False) -> Iterator[str]:
    yield from no_ratings(found)
    ratings = found["ratings"] or []
    for place, (arm, rows) in enumerate(figures.by_arm(ratings)):
        if arm is not None:
            yield from ["", f"Arm {clean(arm)}"] if place else [f"Arm {clean(arm)}"]
        yield from table(*figures.rating_rows(rows, penalised="*", to="-"))
        if plot:
            yield ""
            yield from plot_text(rows)
        controlled = figures.length_rows(rows)
        if controlled[1]:
            yield ""
            yield from table(*controlled)
    if any(row["penalised"] for row in ratings):
        yield "* no finite rating from the data alone; see the notes"


def plot_text(ratings: list[Json]) -> Iterator[str]:
    """Each rating as a dot on its interval. An arrow is an open end."""
    ends = [row[end] for row in ratings for end in ("low", "rating", "high") if row[end] is not None]
    least, most = min(ends), max(ends)
    span = (most - least) or 1.0

    def column(value: float) -> int:
        return int(0.5 + ((value - least) / span * (PLOT_WIDTH - 1)))

    names = figures.told_apart([clean(row["contestant"]) for row in ratings], NAME_WIDTH)
    for row in ratings:
        line = [" "] * PLOT_WIDTH
        known = row["low"] is not None or row["high"] is not None
        low = 0 if row["low"] is None else column(row["low"])
        high = PLOT_WIDTH - 1 if row["high"] is None else column(row["high"])
        if known:
            line[low : high + 1] = ["─"] * (high - low + 1)
            line[low], line[high] = ("◂" if row["low"] is None else "├"), ("▸" if row["high"] is None else "┤")
        line[column(row["rating"])] = "●"
        yield f"{names[clean(row['contestant'])]:<{NAME_WIDTH}}  {''.join(line)}  {row['rating']:+.0f}".rstrip()
    yield f"{'':<{NAME_WIDTH}}  {least:<+{PLOT_WIDTH // 2}.0f}{most:>+{PLOT_WIDTH - PLOT_WIDTH // 2}.0f}"


def _matrix_text(found: Json) -> Iterator[str]:
    for arm, cells in figures.by_arm(found["matrix"]):
        yield ""
        if arm is not None:
            yield f"Arm {clean(arm)}"
        yield "The proposer's share of the points, by who proposed and who opposed"
        yield from table(*figures.matrix_rows(cells), left=2)


def _sides_text(found: Json) -> Iterator[str]:
    sides = figures.advantages(found["sides"])
    if sides:
        yield from ["", "Advantage of the proposer, in points of win rate"]
    for side in sides:
        yield from _wrapped((f"{clean(side['arm'])}: " if "arm" in side else "") + figures.advantage(side))


def _judges_text(found: Json) -> Iterator[str]:
    if not found["judges"]:
        return
    yield ""
    header = ("judge", "judgments", "ties", "flips", "prefers first, points", "accuracy", "Brier")
    yield from table(header, [(*row[:5], *row[7:]) for row in figures.judge_rows(found)[1]])
    by_arm = figures.judge_arm_rows(found)
    if by_arm[1]:
        yield ""
        yield "Judges by arm"
        yield from table(*by_arm, left=2)
    agreed = found["agreement"]
    if agreed["alpha"] is not None:
        yield figures.agreement_of_all(agreed)
    if len(agreed["pairs"]) > 1:
        yield from table(*figures.agreement_rows(found))


def differences_text(found: Json) -> Iterator[str]:
    if len(found["arms"]) < 2:
        return
    known = found["arms"][0]["accuracy"] is not None
    yield ""
    yield "Arms, by the judges' accuracy" if known else "Arms, by the proposer's share of the points"
    yield from table(*figures.arm_rows(found))
    yield ""
    yield from table(*figures.difference_rows(found))
    yield from _wrapped(f"{ARMS_SAY} {MOTIONS_NEEDED}")


def _calibration_text(found: Json) -> Iterator[str]:
    if found["calibration"]:
        yield from ["", "Calibration"]
        yield from table(*figures.calibration_rows(found))


def _beliefs_text(found: Json) -> Iterator[str]:
    if not found["beliefs"]:
        return
    yield from ["", "Beliefs after each round, and swing"]
    yield from table(*figures.belief_rows(found), left=2)
    yield ""
    yield from table(*figures.swing_rows(found))
    yield from _wrapped(SWING_SAYS)


def _costs_text(found: Json) -> Iterator[str]:
    header, rows = figures.cost_rows(found)
    if rows:
        yield ""
        yield from table(header, rows)


def _notes_text(found: Json) -> Iterator[str]:
    """The data of the figures, what is missing, and why some figures are not there."""
    yield ""
    yield from _wrapped(" ".join([rests_on(found), *missing(found["missing"]), *others(found)]), "")
    elsewhere = ("judges.", "calibration", "beliefs", "swing", "arms.accuracy")
    shown = [name for name in found["why"] if not name.startswith(elsewhere)]
    for line in [*found["rests_on"].get("cautions", []), *dict.fromkeys(found["why"][name] for name in shown)]:
        yield from _wrapped(f"Note: {clean(line)}")


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    from textwrap import wrap

    return wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
