"""The commands that open the database: `debate db upgrade` and `debate repair`; `prune` uses `services`."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.cli import output, schema
from app.cli.command import CommandResult, Commands
from app.cli.errors import CommandFailed
from app.cli.options import read_settings
from app.words.counts import count

if TYPE_CHECKING:
    from app.settings import Settings
    from app.usecases.services import Services

commands = Commands()
_db = Commands(name="db", help="Manage the database schema.")


@commands.command()
def repair() -> CommandResult:
    """Recompute every cursor from the stored turns, and print those that were wrong.

    Example: debate repair
    """
    from app.usecases.maintenance import repair as repair_cursors

    with services("debate-repair") as opened:
        repaired = repair_cursors(opened)
    found = [{"debate_id": str(row.debate_id), "title": row.title, "was": row.was, "now": row.now} for row in repaired]
    lines = [
        f"Database: {shown_database(read_settings())}",
        *(f"{row.debate_id}  {row.was}  →  {row.now}  {row.title}" for row in repaired),
        f"{count(len(repaired), 'cursor')} repaired." if repaired else "Every cursor is correct.",
    ]
    return CommandResult({"repaired": found}, lines)


@_db.command()
def upgrade() -> None:
    """Upgrade the database to the newest schema.

    Example: debate db upgrade
    """
    from app.observe.logs import configure_logs
    from app.store.migrate import is_newer

    settings = read_settings()
    # A deployment logs Alembic's steps; a person at a terminal gets the result only.
    configure_logs("warning" if sys.stderr.isatty() else settings.log_level)
    with _database(settings) as complete:
        before, after = schema.upgrade(complete)
    if is_newer(after):
        output.say(f"The schema is at revision {after}, newer than this version: nothing was changed.")
    elif before == after:
        output.say(f"The schema is already at the newest revision, {after}.")
    else:
        output.say(f"Upgraded the schema from {before or 'nothing'} to {after}.")
    output.say(f"Database: {shown_database(settings)}")


commands.add_typer(_db)


def shown_database(settings: "Settings") -> str:
    from app.settings import without_secrets

    return without_secrets(settings.database_url) if settings.database_url else f"embedded, in {settings.data_dir}"


@contextlib.contextmanager
def services(name: str) -> Iterator["Services"]:
    """Services with one database connection, for a command that uses the database directly."""
    from app.bootstrap import build_services, close_services
    from app.embedded import has_database
    from app.observe.logs import configure_logs

    configure_logs("error")
    settings = read_settings()
    if settings.database_url is None and not has_database(settings.data_dir):
        raise CommandFailed(
            f"There is no database in {settings.data_dir}",
            suggestion="Set DEBATE_DATA_DIR to another directory, or DEBATE_DATABASE_URL to a server",
        )
    with _database(settings) as complete:
        opened = build_services(complete, name=name, database_connections=1)
        try:
            yield opened
        finally:
            close_services(opened)


@contextlib.contextmanager
def _database(settings: "Settings") -> Iterator["Settings"]:
    """The configured servers or embedded ones. The command fails with a message when the database is unreachable."""
    from app.cli.stack import Servers
    from app.store.engine import DatabaseUnavailable
    from app.store.errors import log_words

    try:
        with Servers(settings) as complete:
            yield complete
    except DatabaseUnavailable as problem:
        raise CommandFailed(log_words(problem)) from problem
