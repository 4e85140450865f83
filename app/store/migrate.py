"""Bringing the database to the newest schema."""

import time
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import func, select

from app.store.engine import make_migration_engine
from app.store.sweeping import MIGRATION_LOCK

ASK_AGAIN_SECONDS = 0.1
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
    work done. They ask for it again and again: an index that is built beside running work waits for every statement
    that is under way, and one that waited for the lock would never end.
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
