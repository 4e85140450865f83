"""`debate prune`: counts old debates, exchanges or deliveries, and deletes them with --yes."""

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import db, output
from app.cli.errors import CommandFailed, Exit
from app.cli.options import AsJson, read_settings

if TYPE_CHECKING:
    from app.store.debates import EndedCount
    from app.usecases.services import Services

commands = typer.Typer()
_UNITS = {"d": "days", "h": "hours"}


@commands.command()
def prune(
    older_than: Annotated[str, typer.Option(help="Minimum age since the last change, such as 90d or 12h.")],
    exchanges: Annotated[
        bool, typer.Option("--exchanges", help="Only exchanges with models; debates and turns are kept.")
    ] = False,
    deliveries: Annotated[
        bool, typer.Option("--deliveries", help="Only webhook deliveries that were delivered or given up.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete. [default: only count]")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete debates that ended long ago, their exchanges with models, or old webhook deliveries.

    Without --yes it only counts them.

    Example: debate prune --older-than 90d
    """
    age = age_of(older_than)
    if exchanges and deliveries:
        raise CommandFailed("--exchanges and --deliveries cannot be combined", Exit.USAGE, "Give one of them")
    from app.store.debates import EndedCount
    from app.usecases.maintenance import count_old
    from app.wire.debates import time_json

    if exchanges or deliveries:
        _prune_records("exchanges" if exchanges else "deliveries", age, yes, as_json)
        return
    with db.services("debate-prune") as services:
        before, found = count_old(services, age)
        deleted = _delete(services, before, found, hidden=as_json) if yes else EndedCount(0, 0)
    if as_json:
        counts = {"found": _json(found), "deleted": _json(deleted)}
        output.print_json({"before": time_json(before), **counts, "dry_run": not yes})
        return
    output.say(f"Database: {db.shown_database(read_settings())}")
    if yes:
        output.say(f"Deleted {_counted(deleted)}.")
    else:
        output.say(f"{_counted(found)} ended and last changed before {before:%Y-%m-%d %H:%M} UTC.")
        output.say("Nothing was deleted. Add --yes to delete them." if found.debates else "There is nothing to delete.")


_SINGULAR = {"exchanges": "exchange", "deliveries": "delivery"}


def _prune_records(kind: str, age: timedelta, yes: bool, as_json: bool) -> None:
    from app.usecases.maintenance import count_old_records, prune_records
    from app.wire.debates import time_json

    with db.services("debate-prune") as services:
        before, found = count_old_records(services, kind, age)
        deleted = sum(prune_records(services, kind, before)) if yes else 0
    if as_json:
        counts = {"found": {kind: found}, "deleted": {kind: deleted}}
        output.print_json({"before": time_json(before), **counts, "dry_run": not yes})
        return
    output.say(f"Database: {db.shown_database(read_settings())}")
    if yes:
        output.say(f"Deleted {output.count(deleted, _SINGULAR[kind], kind)}. Debates and turns are kept.")
    else:
        output.say(f"{output.count(found, _SINGULAR[kind], kind)} from before {before:%Y-%m-%d %H:%M} UTC.")
        output.say("Nothing was deleted. Add --yes to delete them." if found else "There is nothing to delete.")


def age_of(text: str) -> timedelta:
    found = re.fullmatch(r"([1-9]\d{0,5})([dh])", text)
    if not found:
        raise CommandFailed(
            f"--older-than {text!r} is not an age", Exit.USAGE, "Give whole days or hours, such as 90d or 12h"
        )
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _delete(services: "Services", before: datetime, found: "EndedCount", hidden: bool) -> "EndedCount":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from app.cli.show import err
    from app.store.debates import EndedCount
    from app.usecases.maintenance import prune

    columns = (TextColumn("Deleting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    deleted = EndedCount(0, 0)
    with Progress(*columns, console=err, disable=hidden or not err.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=found.debates)
        for batch in prune(services, before):
            deleted = EndedCount(deleted.debates + batch.debates, deleted.turns + batch.turns)
            bar.update(task, completed=deleted.debates)
    return deleted


def _json(counted: "EndedCount") -> dict[str, int]:
    return {"debates": counted.debates, "turns": counted.turns}


def _counted(counted: "EndedCount") -> str:
    return f"{output.count(counted.debates, 'debate')} with {output.count(counted.turns, 'turn')}"
