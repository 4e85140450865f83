"""Upgrades the database to the newest schema."""

import time
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import func, select

from app.store.engine import make_migration_engine
from app.store.leases import MIGRATION_LOCK

ASK_AGAIN_SECONDS = 0.1
MIGRATIONS = Path(__file__).parents[2] / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def newest_revision() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


class SchemaTooOld(Exception):
    """The database is at a revision whose migrations this version no longer has."""


def refuse_too_old(revision: str | None) -> None:
    oldest = ScriptDirectory.from_config(_config()).get_base()
    if revision is not None and oldest is not None and revision < oldest:
        raise SchemaTooOld(f"The schema is at revision {revision}, and this version upgrades from {oldest} on")


def is_newer(revision: str | None) -> bool:
    """Than any that this version knows. Revisions are numbers of four digits."""
    newest = newest_revision()
    return revision is not None and newest is not None and revision > newest


def upgrade(database_url: str) -> tuple[str | None, str | None]:
    """Runs the missing migrations; returns the revision before and after. The schema of a newer version stays as it is:
    migrations only add. Raises SchemaTooOld for one from before the oldest revision.

    Processes that start together poll for a lock: CREATE INDEX CONCURRENTLY would deadlock with a waiting statement.
    """
    engine = make_migration_engine(database_url)
    with engine.connect() as connection:
        while not connection.execute(select(func.pg_try_advisory_lock(MIGRATION_LOCK))).scalar_one():
            connection.commit()
            time.sleep(ASK_AGAIN_SECONDS)
        connection.commit()
        try:
            before = MigrationContext.configure(connection).get_current_revision()
            connection.rollback()
            refuse_too_old(before)
            if before != newest_revision() and not is_newer(before):
                config = _config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
            after = MigrationContext.configure(connection).get_current_revision()
            connection.rollback()
        finally:
            connection.rollback()
            connection.execute(select(func.pg_advisory_unlock(MIGRATION_LOCK)))
            connection.commit()
    engine.dispose()
    return before, after


def current_revision(database_url: str) -> str | None:
    engine = make_migration_engine(database_url)
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()
