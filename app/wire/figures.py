"""Figures of an experiment as inline SVG, and their rows as tables. The report and the pages show the same."""

import json
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from app.wire.shape import Json
from app.wire.texts import legible
from app.words.counts import count
from app.words.money import cost

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
Column = tuple[str, Callable[[Json], str]]
ROW, LEFT, PLOT = 28, 190, 420
NARROW_ROW, NARROW_PLOT = 46, 260
SCALE_HEIGHT = 30
CELL, SMALL_CELL = 64, 46
MANY = 10
"""From so many contestants on, the matrix has smaller cells."""
SHORT = 6
"""Names of the matrix' columns that are longer than this stand upright."""
LONGEST_NAME, LONGEST_UPRIGHT = 24, 20
LETTER = 8
"""Room for one letter, in pixels."""


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def told_apart(names: Sequence[str], width: int) -> dict[str, str]:
    """Each name in at most `width` characters, no two alike: without its middle; where that makes two alike, without
    the beginning that all share; and where that is not enough, with a number before it."""
    different = list(dict.fromkeys(names))
    shared = _shared_beginning(different)
    rests = [f"…{name[shared:]}" if shared > 1 else name for name in different]
    numbered = [f"{number} {name}" for number, name in enumerate(rests, 1)]
    for tried in (different, rests, numbered):
        labels = [_without_middle(name, width) for name in tried]
        if len(set(labels)) == len(labels):
            break
    return dict(zip(different, labels, strict=True))


def _shared_beginning(names: Sequence[str]) -> int:
    """How many characters, up to the end of a word."""
    first, last = min(names, default=""), max(names, default="")
    length = next((at for at, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), 0)
    while length and first[length - 1].isalnum():
        length -= 1
    return length


def _without_middle(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    end = max(0, width - 1) // 2
    return f"{text[: max(0, width - 1 - end)]}…{text[len(text) - end :]}"


def number(value: float | None, form: str = ".0f") -> str:
    return "-" if value is None else f"{value:{form}}"


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def interval(row: Json, form: str = ".0f", scale: float = 1) -> str:
    if row.get("low") is None and row.get("high") is None:
        return "-"
    low, high = (None if row.get(end) is None else row[end] * scale for end in ("low", "high"))
    return f"{number(low, form)} to {number(high, form)}"


def points(figure: Json | None) -> str:
    """A figure of points of win rate, with its interval."""
    if not figure or figure.get("value") is None:
        return "-"
    value, within = f"{100 * figure['value']:+.1f}", interval(figure, "+.1f", 100)
    return value if within == "-" else f"{value} ({within})"


def pretty(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2)


def ranks(row: Json, to: str = " to ") -> str:
    return str(row["rank_low"]) if row["rank_low"] == row["rank_high"] else f"{row['rank_low']}{to}{row['rank_high']}"


def by_arm(rows: Sequence[Json] | None) -> list[tuple[str | None, list[Json]]]:
    """The ratings, or the cells of the matrix, of each arm; those of one arm have no name."""
    found: dict[str | None, list[Json]] = {}
    for row in rows or ():
        found.setdefault(row.get("arm"), []).append(row)
    return list(found.items())


def advantages(sides: Json) -> list[Json]:
    """Of the proposer, where there is one; with several arms, one for each."""
    return [one for one in sides.get("arms", [sides]) if one["advantage"] is not None]


def advantage(one: Json) -> str:
    within = points({**one, "value": one["advantage"]})
    return (
        f"{within} points for the proposer, from {count(one['debates'], 'debate')} on {count(one['motions'], 'motion')}"
    )


def _table(rows: Iterable[Json], *columns: Column) -> Table:
    """Of each column the title, and what makes a row's cell."""
    return tuple(title for title, _ in columns), [tuple(cell(row) for _, cell in columns) for row in rows]


def _plain(*names: str, **titles: str) -> list[Column]:
    """Columns of values as they are, each under its own name or under a title."""
    named = {**{name: name for name in names}, **titles}
    return [(title, lambda row, name=name: str(row[name])) for title, name in named.items()]  # type: ignore[misc]


_OUTCOMES = _plain(won="wins", tied="ties", lost="losses")
_BRIER: Column = ("Brier", lambda judge: number((judge.get("brier") or {}).get("value"), ".2f"))
_WITHIN: Column = ("95 %", lambda row: interval(row, ".0f", 100))


def rating_rows(ratings: Sequence[Json], penalised: str = " (penalised)", to: str = " to ") -> Table:
    """`penalised` marks a contestant without a finite rating from the data; `to` separates two ranks."""
    return _table(
        ratings,
        ("contestant", lambda row: row["contestant"] + (penalised if row["penalised"] else "")),
        ("rating", lambda row: number(row["rating"], "+.0f")),
        ("95 %", lambda row: interval(row, "+.0f")),
        ("ranks", lambda row: ranks(row, to)),
        ("win rate", lambda row: percent(row["win_rate"])),
        *_OUTCOMES,
        *_plain("debates"),
    )


def length_rows(ratings: Sequence[Json]) -> Table:
    """The ratings at equal length; no rows where they were not requested."""
    return _table(
        [row for row in ratings if "rating_controlled" in row],
        *_plain("contestant"),
        ("rating", lambda row: number(row["rating"], "+.0f")),
        ("at equal length", lambda row: number(row["rating_controlled"], "+.0f")),
        ("95 %", lambda row: interval({"low": row["low_controlled"], "high": row["high_controlled"]}, "+.0f")),
    )


def matrix_rows(cells: Sequence[Json]) -> Table:
    share: Column = ("share", lambda cell: percent(cell["mean"]))
    return _table(cells, *_plain("proposer", "opponent"), share, _WITHIN, *_OUTCOMES, *_plain("motions"))


def judge_rows(found: Json) -> Table:
    return _table(
        found["judges"],
        *_plain("judge", "judgments", "ties"),
        ("flips", lambda judge: f"{judge['flips']} of {judge['compared']}" if judge.get("compared") else "-"),
        ("first position", lambda judge: points(judge["first_position"])),
        ("own provider", lambda judge: points(judge["own_provider"])),
        ("length", lambda judge: points(judge["length"])),
        ("accuracy", lambda judge: percent((judge.get("accuracy") or {}).get("value"))),
        _BRIER,
    )


def judge_arm_rows(found: Json) -> Table:
    """Each judge in each arm; no rows if there is one arm."""
    rows = [{"judge": judge["judge"], **arm} for judge in found["judges"] for arm in judge["arms"]]
    measure, title = _measure(rows)
    return _table(
        rows,
        *_plain("judge", "arm", "debates"),
        ("flips", lambda arm: f"{arm['flips']}/{arm['compared']}" if arm["compared"] else "-"),
        ("first position", lambda arm: points(arm["first_position"])),
        (title, lambda arm: percent((arm[measure] or {}).get("value"))),
        ("95 %", lambda arm: interval(arm[measure] or {}, ".0f", 100)),
        _BRIER,
    )


def _measure(arms: Iterable[Json]) -> tuple[str, str]:
    """The measure that compares arms, and its title in a table."""
    known = any(arm["accuracy"] is not None for arm in arms)
    return ("accuracy", "accuracy") if known else ("proposer_share", "proposer's share")


def arm_rows(found: Json, what: str = "arm") -> Table:
    measure, title = _measure(found["arms"])
    level: Column = (title, lambda arm: percent(arm.get(measure)))
    return _table(found["arms"], *_plain(**{what: "arm"}), level, _WITHIN, *_plain("debates", "motions"))


def difference_rows(found: Json, what: str = "arms") -> Table:
    return _table(
        found["differences"],
        (what, lambda pair: " - ".join(pair["arms"])),
        ("kind", lambda pair: "paired" if pair["paired"] else "unpaired"),
        ("difference (95 %)", points),
        ("p", lambda pair: number(pair["p"], ".3f")),
        *_plain("motions"),
        ("motions needed", lambda pair: str(pair.get("motions_needed") or "-")),
    )


def calibration_rows(found: Json) -> Table:
    """Of all judgments, of each arm where there are several, and of each judge."""
    many = len(found["arms"]) > 1
    return _table(
        [row for row in found["calibration"] if row["by"] != "arm" or many],
        ("judgments of", lambda row: "all" if row["by"] == "all" else f"{row['by']} {row['name']}"),
        *_plain(judgments="n"),
        *_scores(),
    )


def _scores() -> list[Column]:
    names = {"Brier": "brier", "log score": "log_score", "calibration error": "ece"}
    return [(title, lambda row, name=name: number(row[name], ".3f")) for title, name in names.items()]  # type: ignore[misc]


def belief_rows(found: Json) -> Table:
    """Of all judges, and of each one where there are several."""
    several = len({row["judge"] for row in found["beliefs"]}) > 2
    return _table(
        [row for row in found["beliefs"] if row["judge"] is None or several],
        *_plain("arm"),
        ("judge", lambda row: row["judge"] or "all"),
        *_plain("round"),
        ("belief", lambda row: percent(row["mean"])),
        _WITHIN,
        *_plain("side", "debates", "motions"),
    )


def swing_rows(found: Json) -> Table:
    return _table(
        found["swing"],
        *_plain("arm"),
        ("before", lambda row: percent(row["before"])),
        ("final", lambda row: percent(row["final"])),
        ("swing (95 %)", points),
        *_plain("debates", "motions"),
    )


def agreement_of_all(agreed: Json) -> str:
    within = interval(agreed, ".2f")
    return f"Agreement of all judges: alpha {agreed['alpha']:.2f} ({within}), over {count(agreed['n'], 'debate')}"


def agreement_rows(found: Json) -> Table:
    return _table(
        [pair for pair in found["agreement"]["pairs"] if pair["kappa"] is not None],
        ("judges", lambda pair: " and ".join(pair["judges"])),
        ("kappa", lambda pair: number(pair["kappa"], ".2f")),
        ("95 %", lambda pair: interval(pair, ".2f")),
        *_plain(debates="n"),
    )


def cost_rows(found: Json) -> Table:
    """Of each contestant and judge, and the rulings in the debates; then the rest, and the total."""
    costs = found["costs"]
    rows = [
        (f"{kind} {row.get(kind) or ''}", row) for kind in ("contestant", "judge") for row in costs.get(f"{kind}s", [])
    ]
    rows += [("rulings in debates", costs["arbitrator"])] if costs["arbitrator"] else []
    shown = [
        (
            who,
            cost(row["cost_usd"]),
            f"{row['input_tokens'] + row['output_tokens']:,}",
            number(row["mean_seconds"], ".1f"),
            str(sum(row["failures"].values())),
        )
        for who, row in rows
    ]
    sums = (("other calls", costs["other_usd"]), ("all calls", costs["total_usd"]))
    header = ("who", "cost", "tokens", "seconds a call", "failed attempts")
    return header, [*shown, *((who, cost(amount), "", "", "") for who, amount in sums if shown)]


def ratings_svg(ratings: list[Json], narrow: bool = False) -> str:
    """Dots on their intervals, the best first. In the narrow one, for a phone, names stand above their lines."""
    ends = [row[end] for row in ratings for end in ("low", "rating", "high") if row[end] is not None]
    least, most = min([*ends, 0.0]), max([*ends, 0.0])
    span = (most - least) or 1.0
    left, plot, step = (10, NARROW_PLOT, NARROW_ROW) if narrow else (LEFT, PLOT, ROW)

    def x(value: float | None, open_end: float) -> float:
        return open_end if value is None else left + (value - least) / span * plot

    height = step * len(ratings) + SCALE_HEIGHT
    zero = x(0, 0)
    labels = _labels([row["contestant"] for row in ratings], LONGEST_NAME)
    parts = [f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{height - 24}"/>']
    for place, row in enumerate(ratings):
        y = place * step + (step - 12 if narrow else step / 2)
        low, high = x(row["low"], left), x(row["high"], left + plot)
        name_at = (left, y - 14) if narrow else (0, y + 4)
        parts.append(f'<text x="{name_at[0]}" y="{name_at[1]:.1f}">{labels[row["contestant"]]}</text>')
        if row["low"] is not None or row["high"] is not None:
            parts.append(f'<line class="line" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>')
            parts += [_arrow(at, y, open_to) for at, open_to in _open_ends(row, low, high)]
        parts.append(f'<circle class="dot" cx="{x(row["rating"], 0):.1f}" cy="{y}" r="5"/>')
        parts.append(f'<text x="{left + plot + 12}" y="{y + 4:.1f}">{row["rating"]:+.0f}</text>')
    parts += _scale(least, most, x, height - 6)
    return _svg(left + plot + 60, height, f"Ratings with their intervals. {_ratings_in_words(ratings)}", parts)


def arms_svg(found: Json) -> str:
    """What compares arms, from 0 to 100 %, as dots on their intervals."""
    measure, title = _measure(found["arms"])
    rows = [arm for arm in found["arms"] if arm[measure] is not None]
    height = ROW * len(rows) + SCALE_HEIGHT
    labels = _labels([row["arm"] for row in rows], LONGEST_NAME)
    parts = [_line("axis", (LEFT + PLOT / 2, 0), (LEFT + PLOT / 2, height - 24))]
    for place, row in enumerate(rows):
        y, at = place * ROW + ROW / 2, LEFT + row[measure] * PLOT
        parts.append(f'<text x="0" y="{y + 4:.1f}">{labels[row["arm"]]}</text>')
        if row["low"] is not None:
            parts.append(_line("line", (LEFT + row["low"] * PLOT, y), (LEFT + row["high"] * PLOT, y)))
        parts += [_dot(at, y), _words(LEFT + PLOT + 12, y + 4, percent(row[measure]), "start")]
    ends = ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    parts += [_words(LEFT + share * PLOT, height - 6, percent(share), anchor) for share, anchor in ends]
    said = "; ".join(f"{row['arm']} {percent(row[measure])}" for row in rows)
    return _svg(LEFT + PLOT + 60, height, f"Arms by {title}. {said}", parts)


def beliefs_svg(rows: Sequence[Json]) -> str:
    """The mean belief of one arm after each round, with its interval."""
    rounds = max((row["round"] for row in rows), default=0) or 1

    def place(row: Json, share: float) -> tuple[float, float]:
        return AXIS + 20 + row["round"] / rounds * (CURVE - 40), _height_of(share)

    means = [(row, *place(row, row["mean"])) for row in rows if row["mean"] is not None]
    parts = _frame("round", (0.0, 0.5, 1.0))
    drawn = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in means)
    parts.append(f'<polyline class="line" fill="none" points="{drawn}"/>')
    for row, x, y in means:
        if row["low"] is not None:
            parts.append(_line("line", place(row, row["low"]), place(row, row["high"])))
        parts += [_dot(x, y), _words(x + 8, y - 8, percent(row["mean"]), "start")]
        parts.append(_words(x, TALL + 20, str(row["round"]), "middle"))
    said = "; ".join(f"round {row['round']}: {percent(row['mean'])}" for row, _, _ in means)
    return _svg(AXIS + CURVE + 40, TALL + 44, f"Belief after each round. {said}", parts)


def reliability_svg(calibration: Json) -> str:
    """How often judgments of each confidence were right."""
    bins = [one for one in calibration["bins"] if one["n"]]

    def x(confidence: float) -> float:
        return AXIS + 20 + (max(0.5, confidence) - 0.5) * 2 * (CURVE - 40)

    parts = _frame("confidence", (0.0, 0.5, 1.0))
    parts.append(_line("axis", (x(0.5), _height_of(0.5)), (x(1.0), _height_of(1.0))))
    parts += [_words(x(share), TALL + 20, percent(share), "middle") for share in (0.5, 0.75, 1.0)]
    for one in bins:
        at, y = x(one["confidence"]), _height_of(one["accuracy"])
        parts += [_dot(at, y), _words(at + 8, y - 8, str(one["n"]), "start")]
    said = "; ".join(f"{percent(one['confidence'])} sure, {percent(one['accuracy'])} right" for one in bins)
    return _svg(AXIS + CURVE + 40, TALL + 44, f"Calibration. {said}", parts)


AXIS, CURVE, TALL = 48, 340, 220
"""Room for the shares on the left, and the size of a curve."""


def _height_of(share: float) -> float:
    return 28 + (1 - share) * (TALL - 36)


def _frame(across: str, shares: Sequence[float]) -> list[str]:
    """Lines at these shares, and what the horizontal axis is."""
    lines = [_line("axis", (AXIS, _height_of(one)), (AXIS + CURVE, _height_of(one))) for one in shares]
    labels = [_words(AXIS - 6, _height_of(one) + 4, percent(one), "end") for one in shares]
    return [*lines, *labels, _words(AXIS + CURVE / 2, TALL + 38, across, "middle")]


def _line(kind: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    where = f'x1="{start[0]:.1f}" x2="{end[0]:.1f}" y1="{start[1]:.1f}" y2="{end[1]:.1f}"'
    return f'<line class="{kind}" {where}/>'


def _dot(x: float, y: float) -> str:
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def _words(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def of_all(calibration: Sequence[Json]) -> Json | None:
    """The calibration of all judgments; None where none counts."""
    return next((row for row in calibration if row["by"] == "all"), None)


def of_all_judges(beliefs: Sequence[Json]) -> list[Json]:
    return [row for row in beliefs if row["judge"] is None]


def _scale(least: float, most: float, x: Callable[[float, float], float], y: float) -> list[str]:
    """The two ends and, where it does not touch them, zero."""
    shown = {least: "start", most: "end"} if least != most else {}
    if all(abs(x(0, 0) - x(end, 0)) > 40 for end in shown):
        shown[0.0] = "middle"
    return [
        f'<text x="{x(value, 0):.1f}" y="{y}" text-anchor="{anchor}">{f"{value:+.0f}" if value else "0"}</text>'
        for value, anchor in shown.items()
    ]


def _ratings_in_words(ratings: list[Json]) -> str:
    said = [f"{row['contestant']} {row['rating']:+.0f}" for row in ratings[:MANY]]
    return "; ".join(said) + (f"; and {len(ratings) - MANY} more" if len(ratings) > MANY else "")


def _open_ends(row: Json, low: float, high: float) -> list[tuple[float, int]]:
    return [(at, way) for at, way, end in ((low, -1, "low"), (high, 1, "high")) if row[end] is None]


def _arrow(x: float, y: float, way: int) -> str:
    return f'<path class="dot" d="M{x + 8 * way:.1f} {y}L{x:.1f} {y - 5}L{x:.1f} {y + 5}Z"/>'


def matrix_svg(cells: list[Json], names: Sequence[str] = (), address: Callable[[Json], str] | None = None) -> str:
    """`names` gives the order of rows and columns; `address` makes a link of each cell."""
    seen = {cell[side] for cell in cells for side in ("proposer", "opponent")}
    ordered = [*(name for name in names if name in seen), *sorted(seen.difference(names))]
    place = {name: number for number, name in enumerate(ordered)}
    many = len(ordered) >= MANY
    upright = many or any(len(name) > SHORT for name in ordered)
    width = LONGEST_UPRIGHT if upright else SHORT
    rows, columns = _labels(ordered, LONGEST_NAME), _labels(ordered, width)
    size = SMALL_CELL if many else CELL
    top = 14 + LETTER * max(map(len, _shortened(ordered, width).values()), default=0) if upright else 30
    parts = []
    for name, at in place.items():
        parts.append(f'<text x="0" y="{top + at * size + size / 2 + 4}">{rows[name]}</text>')
        middle = LEFT + at * size + size / 2
        turned = f' transform="rotate(-90 {middle + 4} {top - 6})"' if upright else ""
        where = f'x="{middle + 4}" y="{top - 6}"' if upright else f'x="{middle}" y="18" text-anchor="middle"'
        parts.append(f"<text {where}{turned}>{columns[name]}</text>")
    for cell in cells:
        drawn = _cell(cell, LEFT + place[cell["opponent"]] * size, top + place[cell["proposer"]] * size, size)
        parts.append(_linked(drawn, cell, address(cell)) if address else drawn)
    what = "Share of the points by proposer and opponent"
    return _svg(LEFT + size * len(ordered), top + size * len(ordered) + 4, what, parts, is_image=address is None)


def _cell(cell: Json, x: float, y: float, size: int) -> str:
    opacity = f"{0.6 * (cell['mean'] or 0):.2f}"
    rect = f'x="{x}" y="{y}" width="{size}" height="{size}"'
    says = (percent(cell["mean"]), f"n {cell['motions']}")
    texts = [
        f'<text x="{x + size / 2}" y="{y + size / 2 - 4 + 17 * line}" text-anchor="middle">{text}</text>'
        for line, text in enumerate(says)
    ]
    return f'<rect class="cell" {rect} fill-opacity="{opacity}"/>{"".join(texts)}'


def _linked(drawn: str, cell: Json, address: str) -> str:
    says = (
        f"{cell['proposer']} proposed, {cell['opponent']} opposed: {percent(cell['mean'])} of the points on "
        f"{cell['motions']} motions ({interval(cell, '.0f', 100)})"
    )
    words = escape(legible(says))
    return f'<a href="{escape(address)}" aria-label="{words}"><title>{words}</title>{drawn}</a>'


def _labels(names: Sequence[str], width: int) -> dict[str, str]:
    """As SVG, with the whole name where it is shortened."""
    return {
        name: escape(short) + (f"<title>{escape(legible(name))}</title>" if short != legible(name) else "")
        for name, short in _shortened(names, width).items()
    }


def _shortened(names: Sequence[str], width: int) -> dict[str, str]:
    shown = {name: legible(name) for name in names}
    short = told_apart(list(shown.values()), width)
    return {name: short[words] for name, words in shown.items()}


def _svg(width: float, height: float, title: str, parts: list[str], is_image: bool = True) -> str:
    role = "img" if is_image else "group"
    opening = f'<svg role="{role}" aria-label="{escape(legible(title))}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'{opening} width="{width:.0f}" height="{height:.0f}">{"".join(parts)}</svg>'
