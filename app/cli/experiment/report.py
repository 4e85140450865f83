"""The report of an experiment: one file of Markdown, or of HTML with figures, which loads nothing from other hosts."""

from collections.abc import Iterator
from html import escape

from app.cli.experiment.tables import results_text
from app.cli.output import Json, clean
from app.wire import figures
from app.words import results
from app.words.experiments import ending

Rows = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""The header, and the rows below it."""
STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #bbb; --fill: 20, 90, 160 }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --paper: #161616; --line: #555; --fill: 110, 170, 240 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .5rem; text-align: right }
th:first-child, td:first-child { text-align: left }
figure { margin: 1.5rem 0; overflow-x: auto } svg { max-width: 100%; height: auto } svg text { fill: var(--ink); font: 13px system-ui, sans-serif }
svg .line { stroke: var(--ink); stroke-width: 2 } svg .axis { stroke: var(--line) } svg .dot { fill: var(--ink) }
svg .cell { stroke: var(--line); fill: rgb(var(--fill)) } figcaption, .note { font-size: .9rem } pre { white-space: pre-wrap; overflow-wrap: anywhere }
@media print { body { margin: 0; max-width: none } figure, table { break-inside: avoid } }
"""  # noqa: E501 (a style sheet)


def _sections(found: Json) -> Iterator[tuple[str, Rows, str, str]]:
    """For each section its title, its table, how to read it, and its figure if it has one."""
    for arm, ratings in figures.by_arm(found["ratings"]):
        yield _of_arm("Ratings", arm), figures.rating_rows(ratings), results.RATINGS_SAY, figures.ratings_svg(ratings)
        controlled = figures.length_rows(ratings)
        if controlled[1]:
            yield _of_arm("Ratings at equal length", arm), controlled, results.LENGTH_SAYS, ""
    for arm, cells in figures.by_arm(found["matrix"]):
        yield _of_arm("Matrix", arm), figures.matrix_rows(cells), results.MATRIX_SAYS, figures.matrix_svg(cells)
    if found["judges"]:
        yield "Judges", figures.judge_rows(found), results.JUDGES_SAY, ""
    by_arm = figures.judge_arm_rows(found)
    if by_arm[1]:
        yield "Judges by arm", by_arm, results.JUDGES_BY_ARM_SAY, ""
    if len(found["arms"]) > 1:
        yield "Arms", figures.arm_rows(found), results.ARMS_PLOT_SAYS, figures.arms_svg(found)
        yield "Differences between arms", figures.difference_rows(found), results.ARMS_SAY, ""
    of_all = figures.of_all(found["calibration"])
    if of_all:
        svg = figures.reliability_svg(of_all)
        yield "Calibration", figures.calibration_rows(found), results.CALIBRATION_SAYS, svg
    for arm, rows in figures.by_arm(figures.of_all_judges(found["beliefs"])):
        table = figures.belief_rows({"beliefs": [row for row in found["beliefs"] if row["arm"] == arm]})
        yield _of_arm("Beliefs", arm or None), table, results.BELIEFS_SAY, figures.beliefs_svg(rows)
    if found["swing"]:
        yield "Swing", figures.swing_rows(found), results.SWING_SAYS, ""


def _of_arm(title: str, arm: str | None) -> str:
    return title if arm is None else f"{title} in arm {arm}"


def markdown_report(title: str, found: Json, experiment: Json | None) -> str:
    lines = [f"# {_md(title)}", "", *(f"{line}  " for line in _about(found, experiment)), ""]
    for title, rows, says, _ in _sections(found):
        lines += [f"## {_md(title)}", "", *_md_table(*rows), "", says, ""]
    lines += ["## All figures", "", "```", *results_text(found), "```", ""]
    if experiment and experiment["spec"]:
        lines += ["## Spec", "", "```json", figures.pretty(experiment["spec"]), "```", ""]
    return "\n".join(lines)


def _md(text: str) -> str:
    return clean(text).replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


def _md_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [header, ("---", *["---:"] * (len(header) - 1)), *rows]
    return [f"| {' | '.join(_md(cell) for cell in row)} |" for row in lines]


def html_report(title: str, found: Json, experiment: Json | None) -> str:
    parts = [f"<h1>{_h(title)}</h1>", *(f"<p>{_h(line)}</p>" for line in _about(found, experiment))]
    for title, rows, says, svg in _sections(found):
        table = _html_table(*rows)
        parts += [f"<h2>{_h(title)}</h2>", *([_figure(svg, says), table] if svg else [table, f"<p>{_h(says)}</p>"])]
    parts += ["<h2>All figures</h2>", f"<pre>{_h(chr(10).join(results_text(found)))}</pre>"]
    if experiment and experiment["spec"]:
        parts += ["<h2>Spec</h2>", f"<pre>{_h(figures.pretty(experiment['spec']))}</pre>"]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_h(title)}</title>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n'


def _h(text: str) -> str:
    return escape(clean(text))


def _figure(svg: str, says: str) -> str:
    return f"<figure>{svg}<figcaption>{_h(says)}</figcaption></figure>"


def _html_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f'<th scope="col">{_h(cell)}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{_h(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _about(found: Json, experiment: Json | None) -> list[str]:
    lines = [f"{results.rests_on(found)} Method: {found['rests_on']['method']}."]
    if experiment:
        began = "created" if experiment["spec"] else "imported"
        how = ending(experiment["status"], experiment["stop_reason"])
        lines.append(f"Experiment {experiment['id']}, {how}, {began} {experiment['created_at']}.")
    return [*lines, *results.no_ratings(found)]
