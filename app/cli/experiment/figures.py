"""The results of experiments: results, compare, report."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli import options
from app.cli.command import AsJson, CommandResult, Commands
from app.cli.errors import CommandFailed

commands = Commands()
Source = Annotated[
    str,
    typer.Argument(
        help="An experiment's id or name, or a file of judgments (.csv, .jsonl, .parquet).", show_default=False
    ),
]

OutcomeOption = Annotated[
    Literal["winner", "margin"], typer.Option(help="Rate from winners, or from margins of scores.")
]
ControlOption = Annotated[
    Literal["length"] | None, typer.Option(help="Also rate contestants at equal length.", show_default=False)
]


@commands.command()
def results(
    which: Source,
    plot: Annotated[bool, typer.Option("--plot", help="Also draw the ratings with their intervals.")] = False,
    outcome: OutcomeOption = "winner",
    control: ControlOption = None,
) -> CommandResult:
    """Show ratings, matrix, sides, judges, agreement and costs, each with its interval.

    A file with the columns of `debate experiment export --what judgments` needs no server.

    Example: debate experiment results demo --plot
    """
    from app.cli.experiment.source import results_of
    from app.cli.experiment.tables import results_text

    found, _ = results_of(which, outcome, control)
    return CommandResult(found, results_text(found, plot))


@commands.command()
def compare(first: Source, second: Source) -> CommandResult:
    """Compare two experiments over their common motions.

    Compares the judges' accuracy where the answers are known, otherwise the proposer's share of the points.

    Example: debate experiment compare debate-3-rounds debate-5-rounds
    """
    from app.cli.experiment.source import compared
    from app.cli.experiment.tables import differences_text

    if first == second:
        raise CommandFailed("Both arguments name the same experiment")
    found = compared(first, second)
    kept = {name: found[name] for name in ("arms", "differences")}
    kept["why"] = {name: why for name, why in found["why"].items() if name.startswith(("arms", "differences"))}
    lines = differences_text(found)
    next(lines, None)  # an empty line between two tables
    notes = [f"Note: {why}" for name, why in kept["why"].items() if name != "arms.accuracy"]
    return CommandResult(kept, [*lines, *notes])


@commands.command()
def report(
    which: Source,
    file: options.OutputFile,
    form: Annotated[
        Literal["html", "markdown"] | None,
        typer.Option("--format", help="[default: by the file's name, else markdown]", show_default=False),
    ] = None,
    outcome: OutcomeOption = "winner",
    control: ControlOption = None,
    as_json: AsJson = False,
) -> CommandResult | None:
    """Write the results to one file: HTML with figures, or Markdown.

    Example: debate experiment report demo --output report.html
    """
    from app.cli.experiment.report import html_report, markdown_report
    from app.cli.experiment.source import results_of

    found, experiment = results_of(which, outcome, control)
    title = experiment["name"] if experiment else Path(which).name
    chosen = form or ("html" if file.target.lower().endswith((".html", ".htm")) else "markdown")
    text = (html_report if chosen == "html" else markdown_report)(title, found, experiment)
    if file.is_stdout:
        return CommandResult({"format": chosen, "report": text}, [text.rstrip("\n")])
    file.write([text.encode()], quiet=as_json)
    return CommandResult({"format": chosen, "file": file.target})
