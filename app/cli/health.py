"""`debate health …`: the health checks of containers, about this machine only."""

import socket

import typer

from app.cli.errors import CommandFailed, Exit
from app.cli.help import WholeSummaries
from app.cli.options import connect, read_settings

commands = typer.Typer(name="health", cls=WholeSummaries, help="Health checks for containers.", no_args_is_help=True)
TIMEOUT_SECONDS = 5


@commands.command()
def api() -> None:
    """Check that the API on this machine answers.

    Only the process is checked: an API must not be restarted because its database is down.

    Example: debate health api
    """
    server = connect()
    if not server.answers():
        raise CommandFailed(f"No API answers at {server.shown_url}", Exit.NO_SERVER)


@commands.command()
def worker() -> None:
    """Check that a worker on this machine has a live lease.

    Example: debate health worker
    """
    from app.store.engine import DatabaseUnavailable, Engine, SchemaMissing
    from app.store.leases import count_live

    settings = read_settings()
    if settings.database_url is None:
        raise CommandFailed("DEBATE_DATABASE_URL is not set", Exit.USAGE)
    engine = Engine(settings.database_url, 1, TIMEOUT_SECONDS, "debate-health")
    try:
        with engine.connect() as connection:
            alive = count_live(connection, host=socket.gethostname())
    except (*DatabaseUnavailable, SchemaMissing) as problem:
        raise CommandFailed(f"The database does not answer: {getattr(problem, 'orig', problem)}") from problem
    if not alive:
        raise CommandFailed("No worker on this machine has a live lease", Exit.NO_SERVER)
