"""`debate prune`: says what would go, and with --yes lets it go."""

import re
from datetime import datetime, timedelta

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app.bootstrap import build_services, close_services
from app.cli import show
from app.cli.database import away
from app.cli.errors import CommandFailed, Exit
from app.cli.stack import Servers
from app.logs import configure_logs
from app.settings import Settings
from app.store.engine import DatabaseAway
from app.store.pruning import Counted
from app.usecases.prune import count_old, prune
from app.usecases.services import Services
from app.wire import time_json

_UNITS = {"d": "days", "h": "hours"}


def age_of(text: str) -> timedelta:
    found = re.fullmatch(r"([1-9]\d{0,5})([dh])", text)
    if not found:
        raise CommandFailed(
            f"--older-than {text!r} is no age", Exit.USAGE, "A whole number of days or hours, such as 90d or 12h"
        )
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def prune_debates(settings: Settings, older_than: str, is_sure: bool, as_json: bool) -> None:
    age = age_of(older_than)
    configure_logs("error")
    with Servers(settings) as complete:
        services = build_services(complete, name="debate-prune", database_connections=1)
        try:
            before, found = count_old(services, age)
            gone = _delete(services, before, found, hidden=as_json) if is_sure else Counted(0, 0)
        except DatabaseAway as problem:
            raise away(problem) from problem
        finally:
            close_services(services)
    if as_json:
        document = {"before": time_json(before), "found": _json(found), "deleted": _json(gone), "dry_run": not is_sure}
        show.print_json(document)
    elif is_sure:
        show.say(f"Deleted {_words(gone)}.")
    else:
        show.say(f"{_words(found)} ended and were last touched before {before:%Y-%m-%d %H:%M} UTC.")
        show.say("Nothing was deleted: --yes deletes them." if found.debates else "There is nothing to delete.")


def _delete(services: Services, before: datetime, found: Counted, hidden: bool) -> Counted:
    columns = (TextColumn("Deleting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    gone = Counted(0, 0)
    with Progress(*columns, console=show.err, disable=hidden or not show.err.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=found.debates)
        for batch in prune(services, before):
            gone = Counted(gone.debates + batch.debates, gone.turns + batch.turns)
            bar.update(task, completed=gone.debates)
    return gone


def _json(counted: Counted) -> dict[str, int]:
    return {"debates": counted.debates, "turns": counted.turns}


def _words(counted: Counted) -> str:
    debates = "1 debate" if counted.debates == 1 else f"{counted.debates:,} debates"
    turns = "1 turn" if counted.turns == 1 else f"{counted.turns:,} turns"
    return f"{debates} with {turns}"
