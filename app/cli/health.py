"""`debate health …`: health checks of containers, for this machine only."""

import socket

from app.cli.command import Commands
from app.cli.errors import CommandFailed, Exit
from app.cli.options import connect, read_settings

commands = Commands(name="health", help="Health checks for containers.")
TIMEOUT_SECONDS = 5


@commands.command()
def api() -> None:
    """Check that the API on this machine responds.

    Does not check the database: restarting the API would not fix it.

    Example: debate health api
    """
    server = connect()
    if not server.answers():
        raise CommandFailed(f"No API responds at {server.shown_url}", Exit.NO_SERVER)


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
        raise CommandFailed(f"The database does not respond: {getattr(problem, 'orig', problem)}") from problem
    if not alive:
        raise CommandFailed("No worker on this machine has a live lease", Exit.NO_SERVER)
