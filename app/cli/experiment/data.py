"""What an experiment holds: its matches, exports, and judgments that were made elsewhere."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli import output
from app.cli.errors import CommandFailed
from app.cli.experiment.named import EXPERIMENTS, Named, path_of
from app.cli.options import AsJson, connect
from app.words.counts import count

commands = typer.Typer()
MatchStatus = Literal["planned", "running", "completed", "failed"]


@commands.command()
def matches(
    which: Named,
    contestant: Annotated[str | None, typer.Option(help="Only matches of this contestant.")] = None,
    against: Annotated[str | None, typer.Option(help="… against this one.")] = None,
    motion: Annotated[str | None, typer.Option(help="Only on the motion with this id.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only those that this judge judged.")] = None,
    disagree: Annotated[bool, typer.Option("--disagree", help="Only those whose judgments disagree.")] = False,
    status: Annotated[MatchStatus | None, typer.Option(help="Only those with this status.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-l", help="How many to show.", min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """List the matches of an experiment with their debates, and why some failed.

    Example: debate experiment matches demo --contestant strong --against weak --disagree
    """
    api = connect()
    path = f"{path_of(api, which)}/matches"
    query: dict[str, Any] = {
        "contestant": contestant,
        "against": against,
        "motion": motion,
        "judge": judge,
        "status": status,
    }
    found: list[output.Json] = []
    cursor = None
    while len(found) < limit:
        page = api.get(path, **query, disagree="true" if disagree else None, cursor=cursor, limit=min(limit, 200))
        found += page["matches"]
        cursor = page.get("next_cursor")
        if not cursor:
            break
    found = found[:limit]
    lines = _table(found) if found else []
    output.answer({"matches": found, "next_cursor": cursor}, as_json, lines, "No matches pass these filters.")


def _table(matches: list[output.Json]) -> Iterator[str]:
    from app.cli.experiment.tables import table

    names = ("motion_id", "proposer", "opponent", "status", "debate_id")
    rows = [tuple(str(row[name] or "-") for name in names) for row in matches]
    yield from table(("motion", "proposer", "opponent", "status", "debate"), rows, left=5)
    yield from (f"{row['motion_id']}: {row['reason']}" for row in matches if row["reason"])


@commands.command()
def export(
    which: Named,
    what: Annotated[Literal["debates", "turns", "judgments"], typer.Option(help="What is exported.")] = "judgments",
    form: Annotated[
        Literal["csv", "jsonl", "parquet"], typer.Option("--format", help="The format of the file.")
    ] = "csv",
    target: Annotated[str, typer.Option("--output", help="The file to write; - is standard output.")] = "-",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Export debates, turns or judgments, one row each.

    Example: debate experiment export demo --what judgments --format csv --output judgments.csv
    """
    if as_json and target == "-":
        raise CommandFailed("--json needs --output: the export itself goes to standard output")
    if target == "-" and form == "parquet" and sys.stdout.isatty():
        raise CommandFailed("Parquet is not text", suggestion="Write it to a file with --output")
    api = connect()
    path = f"{path_of(api, which)}/export"
    if target == "-":
        api.download_to(sys.stdout.buffer, path, what=what, format=form)
        sys.stdout.buffer.flush()
        return
    file = Path(target)
    with output.written(file, force) as stream:
        api.download_to(stream, path, what=what, format=form)
    if as_json:
        output.print_json({"file": target, "bytes": file.stat().st_size})
    else:
        output.note(f"Written to {target}.")


@commands.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="Judgments, with the columns of the export.", show_default=False)],
    name: Annotated[str, typer.Option(help="The experiment's name.")],
    as_json: AsJson = False,
) -> None:
    """Import judgments that were made elsewhere, to see their results here.

    Reads what `debate experiment export` writes: CSV, JSON lines or Parquet.

    Example: debate experiment import judgments.csv --name published
    """
    from app.cli.experiment.source import checked_rows
    from app.statistics.exported import COLUMNS
    from app.wire.tables import as_csv

    rows = checked_rows(file)  # every line is checked before anything is sent
    if not rows:
        raise CommandFailed(f"{file}, line 1: there are no judgments")
    sent = b"".join(as_csv("judgments", [[{name: row.get(name) for name in COLUMNS} for _, row in rows]]))
    data = connect().post_content(f"{EXPERIMENTS}/import", sent, "text/csv", name=name)
    experiment = data["experiment"]
    lines = [
        f"{experiment['name']} has {count(len(rows), 'judgment')}. Its id: {experiment['id']}",
        f"See them: {output.program()} experiment results {experiment['id']}",
    ]
    output.answer(experiment, as_json, lines)
