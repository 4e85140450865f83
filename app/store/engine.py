"""The connection to Postgres."""

import psycopg
from sqlalchemy import URL, create_engine, make_url
from sqlalchemy import Connection as Connection
from sqlalchemy import Engine as Engine
from sqlalchemy.exc import InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool

# A lock is held for one short transaction, so waiting this long for one means that something is broken.
LOCK_TIMEOUT_MS = 5_000
STATEMENT_TIMEOUT_MS = 30_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000


def _psycopg_url(database_url: str) -> URL:
    return make_url(database_url).set(drivername="postgresql+psycopg")


def make_engine(database_url: str, pool_size: int, pool_timeout_seconds: float, application_name: str) -> Engine:
    options = (
        f"-c lock_timeout={LOCK_TIMEOUT_MS} -c statement_timeout={STATEMENT_TIMEOUT_MS}"
        f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS} -c timezone=UTC"
    )
    return create_engine(
        _psycopg_url(database_url),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=pool_timeout_seconds,
        pool_use_lifo=True,
        skip_autocommit_rollback=True,
        connect_args={"application_name": application_name, "options": options, "connect_timeout": 5},
    )


def statements(engine: Engine) -> Connection:
    """For looks at the database: each statement is a transaction, one trip to Postgres where a block around it makes
    three. One statement sees one snapshot; several may not see the same."""
    return engine.connect().execution_options(isolation_level="AUTOCOMMIT")


def make_migration_engine(database_url: str) -> Engine:
    """One connection, no limits of time but those that a migration sets itself."""
    return create_engine(_psycopg_url(database_url), poolclass=NullPool, connect_args={"connect_timeout": 5})


DatabaseAway = (OperationalError, InterfaceError, PoolTimeout, psycopg.OperationalError)
"""What is raised when Postgres cannot be reached, refuses, or has no connection to spare."""

ConnectionLost = psycopg.OperationalError
"""What breaks off in the middle raises this."""

SchemaMissing = ProgrammingError
"""What a query raises while the tables are not there: `debate db upgrade` was not run."""
