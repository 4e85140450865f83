"""What an experiment says: results, compare, report."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli import output
from app.cli.errors import CommandFailed
from app.cli.options import AsJson

commands = typer.Typer()
Source = Annotated[
    str,
    typer.Argument(
        help="An experiment's id or name, or a file of judgments (.csv, .jsonl, .parquet).", show_default=False
    ),
]


@commands.command()
def results(
    which: Source,
    plot: Annotated[bool, typer.Option("--plot", help="Also draw the ratings with their intervals.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show ratings, matrix, sides, judges, agreement and costs, each with its interval.

    A file with the columns of `debate experiment export --what judgments` needs no server.

    Example: debate experiment results demo --plot
    """
    from app.cli.experiment.source import results_of
    from app.cli.experiment.tables import results_text

    found, _ = results_of(which)
    output.answer(found, as_json, results_text(found, plot))


@commands.command()
def compare(first: Source, second: Source, as_json: AsJson = False) -> None:
    """Compare two experiments over the motions that both have.

    By the judges' accuracy where the answers are known, else by the proposer's share of the points.

    Example: debate experiment compare debate-3-rounds debate-5-rounds
    """
    from app.cli.experiment.source import compared
    from app.cli.experiment.tables import differences_text

    if first == second:
        raise CommandFailed("These are the same experiment twice")
    found = compared(first, second)
    kept = {name: found[name] for name in ("arms", "differences")}
    kept["why"] = {name: why for name, why in found["why"].items() if name.startswith(("arms", "differences"))}
    lines = differences_text(found)
    next(lines, None)  # an empty one, which stands between two tables
    notes = [f"Note: {why}" for name, why in kept["why"].items() if name != "arms.accuracy"]
    output.answer(kept, as_json, [*lines, *notes])


@commands.command()
def report(
    which: Source,
    target: Annotated[str, typer.Option("--output", help="The file to write; - is standard output.")] = "-",
    form: Annotated[
        Literal["html", "markdown"] | None,
        typer.Option("--format", help="[default: by the file's name, else markdown]", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the results as one file: HTML with its figures inside, or Markdown.

    Example: debate experiment report demo --output report.html
    """
    from app.cli.experiment.report import html_report, markdown_report
    from app.cli.experiment.source import results_of

    found, experiment = results_of(which)
    title = experiment["name"] if experiment else Path(which).name
    chosen = form or ("html" if target.lower().endswith((".html", ".htm")) else "markdown")
    text = (html_report if chosen == "html" else markdown_report)(title, found, experiment)
    if target == "-":
        output.answer({"format": chosen, "report": text}, as_json, [text.rstrip("\n")])
        return
    with output.written(target, force) as stream:
        stream.write(text.encode())
    if as_json:
        output.print_json({"format": chosen, "file": target})
    else:
        output.note(f"Written to {target}.")
