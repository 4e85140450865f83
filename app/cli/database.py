"""`debate db upgrade` and `debate repair`: the commands that speak to the database themselves."""

import sys

from app.bootstrap import build_services, close_services
from app.cli import show
from app.cli.errors import CommandFailed
from app.cli.stack import Servers
from app.logs import configure_logs
from app.settings import Settings
from app.store.engine import DatabaseAway
from app.store.migrate import upgrade as upgrade_database
from app.store.trouble import log_words
from app.usecases.repair import repair as repair_cursors


def upgrade(settings: Settings) -> None:
    # Alembic's steps are for the log of a deployment; a person is told the outcome.
    configure_logs("warning" if sys.stderr.isatty() else settings.log_level)
    with Servers(settings) as complete:
        try:
            before, after = upgrade_database(str(complete.database_url))
        except DatabaseAway as problem:
            raise away(problem) from problem
    if before == after:
        show.out.print(f"The schema is at {after} already, the newest.")
    else:
        show.out.print(f"The schema went from {before or 'nothing'} to {after}.")


def repair(settings: Settings, as_json: bool) -> None:
    configure_logs("error")
    with Servers(settings) as complete:
        services = build_services(complete, name="debate-repair", database_connections=1)
        try:
            repaired = repair_cursors(services)
        except DatabaseAway as problem:
            raise away(problem) from problem
        finally:
            close_services(services)
    if as_json:
        found = [
            {"debate_id": str(row.debate_id), "title": row.title, "was": row.was, "now": row.now} for row in repaired
        ]
        show.print_json({"repaired": found})
        return
    for row in repaired:
        show.out.print(f"{row.debate_id}  {row.was}  →  {row.now}  [dim]{show.safe(row.title)}[/]", soft_wrap=True)
    count = "1 cursor" if len(repaired) == 1 else f"{len(repaired)} cursors"
    show.out.print(f"{count} repaired." if repaired else "Every cursor agrees with its turns.")


def away(problem: Exception) -> CommandFailed:
    return CommandFailed(log_words(problem))
