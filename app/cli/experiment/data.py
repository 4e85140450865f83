"""The data of an experiment: its matches, exports and imported judgments."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.cli import options, output
from app.cli.command import AsJson, CommandResult, Commands
from app.cli.errors import CommandFailed
from app.cli.experiment.named import EXPERIMENTS, ExperimentId
from app.cli.options import connect
from app.words.counts import count
from app.words.judgments import ORDERS

if TYPE_CHECKING:
    from app.cli.client import Api

commands = Commands()
MAX_PAGE = 200


@dataclass(frozen=True)
class MatchOptions:
    """Under the names of GET /experiments/{id}/matches."""

    contestant: Annotated[str | None, typer.Option(help="Only matches of this contestant.")] = None
    against: Annotated[str | None, typer.Option(help="Only matches against this contestant.")] = None
    motion: Annotated[str | None, typer.Option(help="Only on the motion with this id.")] = None
    judge: Annotated[str | None, typer.Option(help="Only those that this judge judged.")] = None
    disagree: Annotated[bool, typer.Option("--disagree", help="Only those whose judgments disagree.")] = False
    status: Annotated[
        Literal["planned", "running", "completed", "failed"] | None, typer.Option(help="Only those with this status.")
    ] = None

    def query(self) -> output.Json:
        return {**vars(self), "disagree": "true" if self.disagree else None}


@commands.command()
def matches(
    experiment: ExperimentId,
    filters: MatchOptions,
    limit: Annotated[int, typer.Option("--limit", "-l", help="The maximum number to show.", min=1, max=10_000)] = 50,
) -> CommandResult:
    """List the matches of an experiment with their debates, and why some failed.

    Example: debate experiment matches demo --contestant strong --against weak --disagree
    """
    found: list[output.Json] = []
    cursor = None
    while len(found) < limit:
        query = {**filters.query(), "cursor": cursor, "limit": min(limit, MAX_PAGE)}
        page = experiment.api.get(f"{experiment.path}/matches", **query)
        found += page["matches"]
        cursor = page.get("next_cursor")
        if not cursor:
            break
    found = found[:limit]
    lines = _lines(experiment.api, found, filters.disagree) if found else ()
    return CommandResult({"matches": found, "next_cursor": cursor}, lines, "No matches pass these filters.")


def _lines(api: "Api", matches: list[output.Json], with_judgments: bool) -> Iterator[str]:
    from app.cli.experiment.tables import table
    from app.cli.show import shortest_unique

    digits = shortest_unique([row["debate_id"] for row in matches if row["debate_id"]])
    names = ("motion_id", "proposer", "opponent", "status")
    rows = [(*(row[name] or "-" for name in names), (row["debate_id"] or "-")[:digits]) for row in matches]
    yield from table(("motion", "proposer", "opponent", "status", "debate"), rows, left=5)
    yield from (f"{row['motion_id']}: {row['reason']}" for row in matches if row["reason"])
    for row in matches if with_judgments else ():
        yield f"\nDebate {row['debate_id'][:digits]}:"
        judgments = api.get(f"/debates/{row['debate_id']}/judgments")["judgments"]
        for each in sorted(judgments, key=lambda each: (each["judge"], each["order"])):
            if each["winner"]:
                order = ORDERS.get(each["order"], each["order"])
                yield f"  {output.clean(each['judge'])} ({order}): {each['winner']}"


@commands.command()
def export(
    experiment: ExperimentId,
    file: options.OutputFile,
    what: Annotated[Literal["debates", "turns", "judgments"], typer.Option(help="The rows to export.")] = "judgments",
    form: Annotated[
        Literal["csv", "jsonl", "parquet"], typer.Option("--format", help="The format of the file.")
    ] = "csv",
    as_json: AsJson = False,
) -> None:
    """Export debates, turns or judgments, one row each.

    Example: debate experiment export demo --what judgments --format csv --output judgments.csv
    """
    if as_json and file.is_stdout:
        raise CommandFailed("--json needs --output: the export itself goes to standard output")
    if file.is_stdout and form == "parquet" and sys.stdout.isatty():
        raise CommandFailed("Parquet is not text", suggestion="Write it to a file with --output")
    file.write(experiment.api.parts(f"{experiment.path}/export", what=what, format=form), quiet=as_json)
    if as_json:
        output.print_json({"file": file.target, "bytes": Path(file.target).stat().st_size})


@commands.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(help="Debates, or judgments with the columns of the export.", show_default=False)
    ],
    name: Annotated[str, typer.Option(help="The experiment's name.")],
) -> CommandResult:
    """Import debates or judgments from a file, to see their results here.

    Reads judgments as `debate experiment export` writes them: CSV, JSON lines or Parquet. JSON lines with `turns` are
    debates with their transcripts: they also extend an imported experiment, and known debates are not added again.

    Example: debate experiment import judgments.csv --name published
    """
    if _has_debates(file):
        return _import_debates(file, name)
    from app.cli.experiment.source import checked_rows
    from app.statistics.exported import COLUMNS
    from app.wire.tables import as_csv

    rows = checked_rows(file)  # all rows, before the first is sent
    if not rows:
        raise CommandFailed(f"{file}, line 1: there are no judgments")
    sent = b"".join(as_csv("judgments", [[{name: row.get(name) for name in COLUMNS} for _, row in rows]]))
    data = connect().post_content(f"{EXPERIMENTS}/import", sent, "text/csv", name=name)
    experiment = data["experiment"]
    lines = [
        f"{experiment['name']} has {count(len(rows), 'judgment')}. Its id: {experiment['id']}",
        f"See them: {output.program()} experiment results {experiment['id']}",
    ]
    return CommandResult(experiment, lines)


def _has_debates(file: Path) -> bool:
    """The keys of the first JSON line show whether the file has debates or judgments."""
    from app.cli.imports import first_record

    if file.suffix.lower() not in (".jsonl", ".ndjson"):
        return False
    first = first_record(file)
    is_debate, is_judgment = ("turns" in first, "winner" in first) if isinstance(first, dict) else (False, False)
    if is_debate == is_judgment and first is not None:
        raise CommandFailed(
            f"{file}, line 1: neither a debate nor a judgment",
            suggestion="A debate has id, motion and turns. A judgment has debate_id, motion_id, judge and winner",
        )
    return is_debate


def _import_debates(file: Path, name: str) -> CommandResult:
    from app.cli.imports import check_debates, counted, send_debates

    check_debates(file)
    document = send_debates(file, f"{EXPERIMENTS}/import", name=name)
    experiment = document["experiment"]
    lines = [
        f"{counted(document)} The experiment {experiment['name']} has the id {experiment['id']}",
        f"See it: {output.program()} experiment results {experiment['id']}",
    ]
    return CommandResult(document, lines)
