"""`debate health api` and `debate health worker`: what the health check of a container asks, of this machine only."""

import socket

from app.cli.client import Api
from app.cli.errors import CommandFailed, Exit
from app.settings import Settings

PATIENCE_SECONDS = 5


def check_api(settings: Settings) -> None:
    """The process alone: an API whose database is away must not be restarted for it."""
    if not Api.of(settings).answers():
        raise CommandFailed(f"No API answers at {settings.url}", Exit.NO_SERVER)


def check_worker(settings: Settings) -> None:
    """A worker of this machine has lately told the database that it is alive."""
    from app.store.engine import DatabaseAway, SchemaMissing, make_engine
    from app.store.sweeping import WORKER_SEEN_SECONDS, count_workers

    if settings.database_url is None:
        raise CommandFailed("DEBATE_DATABASE_URL is not set", Exit.USAGE)
    engine = make_engine(settings.database_url, 1, PATIENCE_SECONDS, "debate-health")
    try:
        with engine.connect() as connection:
            alive = count_workers(connection, host=socket.gethostname())
    except (*DatabaseAway, SchemaMissing) as problem:
        raise CommandFailed(f"The database does not answer: {getattr(problem, 'orig', problem)}") from problem
    if not alive:
        raise CommandFailed(
            f"No worker of this machine was seen within {WORKER_SEEN_SECONDS:.0f} seconds", Exit.NO_SERVER
        )
