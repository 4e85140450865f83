"""`debate prune`: counts old debates, exchanges or deliveries. With --yes it deletes them."""

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import db, output
from app.cli.command import AsJson, Commands
from app.cli.errors import CommandFailed, Exit
from app.cli.options import read_settings
from app.words.counts import count

if TYPE_CHECKING:
    from app.usecases.services import Services

commands = Commands()
_UNITS = {"d": "days", "h": "hours"}
_SINGULAR = {"debates": "debate", "turns": "turn", "exchanges": "exchange", "deliveries": "delivery"}
Counts = dict[str, int]


@commands.command()
def prune(
    older_than: Annotated[str, typer.Option(help="Minimum age since the last change, such as 90d or 12h.")],
    exchanges: Annotated[
        bool, typer.Option("--exchanges", help="Only exchanges with models. Debates and turns are kept.")
    ] = False,
    deliveries: Annotated[
        bool, typer.Option("--deliveries", help="Only webhook deliveries that succeeded or were abandoned.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete. [default: only count]")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete old debates, old exchanges with models, or old webhook deliveries. Without --yes, count them only.

    Example: debate prune --older-than 90d
    """
    age = age_of(older_than)
    if exchanges and deliveries:
        raise CommandFailed("--exchanges and --deliveries cannot be combined", Exit.USAGE, "Give one of them")
    from app.wire.debates import time_json

    with db.services("debate-prune") as services:
        if exchanges or deliveries:
            before, found, deleted = _prune_records(services, "exchanges" if exchanges else "deliveries", age, yes)
            when, kept = "from before", " Debates and turns are kept."
        else:
            before, found, deleted = _prune_debates(services, age, yes, hidden=as_json)
            when, kept = "ended and last changed before", ""
    if as_json:
        output.print_json({"before": time_json(before), "found": found, "deleted": deleted, "dry_run": not yes})
        return
    output.say(f"Database: {db.shown_database(read_settings())}")
    if yes:
        output.say(f"Deleted {_counted(deleted)}.{kept}")
        return
    output.say(f"{_counted(found)} {when} {before:%Y-%m-%d %H:%M} UTC.")
    is_any = any(found.values())
    output.say("Nothing was deleted. Add --yes to delete them." if is_any else "Nothing to delete.")


def _prune_records(services: "Services", kind: str, age: timedelta, yes: bool) -> tuple[datetime, Counts, Counts]:
    from app.usecases.maintenance import count_old_records, prune_records

    before, found = count_old_records(services, kind, age)
    return before, {kind: found}, {kind: sum(prune_records(services, kind, before)) if yes else 0}


def _prune_debates(services: "Services", age: timedelta, yes: bool, hidden: bool) -> tuple[datetime, Counts, Counts]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from app.cli.show import err
    from app.usecases.maintenance import count_old, prune

    before, found = count_old(services, age)
    deleted = {"debates": 0, "turns": 0}
    columns = (TextColumn("Deleting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=hidden or not yes or not err.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=found.debates)
        for batch in prune(services, before) if yes else ():
            deleted["debates"] += batch.debates
            deleted["turns"] += batch.turns
            bar.update(task, completed=deleted["debates"])
    return before, {"debates": found.debates, "turns": found.turns}, deleted


def age_of(text: str) -> timedelta:
    found = re.fullmatch(r"([1-9]\d{0,5})([dh])", text)
    if not found:
        raise CommandFailed(
            f"--older-than {text!r} is not an age", Exit.USAGE, "Give whole days or hours, such as 90d or 12h"
        )
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _counted(counts: Counts) -> str:
    """ "2 debates with 31 turns", or "1 exchange"."""
    return " with ".join(count(number, _SINGULAR[kind], kind) for kind, number in counts.items())
