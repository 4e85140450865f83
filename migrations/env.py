"""Alembic's entry. Always online, on the connection that `app.store.migrate` hands over."""

from alembic import context
from sqlalchemy import text

from app.store.experiments import tables as _experiments  # noqa: F401 (adds its tables)
from app.store.solutions.tables import metadata

# A migration that cannot get its lock gives up instead of making every request queue behind it.
LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
    connection.execute(text(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'"))
    context.run_migrations()
