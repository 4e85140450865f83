"""Bringing the database to the newest schema."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import func, select

from app.store.engine import make_migration_engine
from app.store.sweeping import MIGRATION_LOCK

MIGRATIONS = Path(__file__).parents[2] / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def newest_revision() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


def upgrade(database_url: str) -> tuple[str | None, str | None]:
    """Runs the missing migrations; returns the revision before and after.

    Processes that start together wait for each other on an advisory lock of the session, so that the second finds the
    work done.
    """
    engine = make_migration_engine(database_url)
    with engine.connect() as connection:
        connection.execute(select(func.pg_advisory_lock(MIGRATION_LOCK)))
        connection.commit()
        try:
            before = MigrationContext.configure(connection).get_current_revision()
            connection.rollback()
            if before != newest_revision():
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
