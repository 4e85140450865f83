"""The connection to Postgres."""

from typing import Any

import psycopg
from sqlalchemy import URL, create_engine, event, make_url
from sqlalchemy import Connection as Connection
from sqlalchemy import Engine as Engine
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool, QueuePool

from app import metrics
from app.clock import set_clock
from app.store.fair_pool import FairPool

# A lock is held for one short transaction, so waiting this long for one means that something is broken.
LOCK_TIMEOUT_MS = 5_000
STATEMENT_TIMEOUT_MS = 30_000
# A process that freezes in the middle of a transaction must not keep others from its rows, nor from sweeping.
IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000


def _psycopg_url(database_url: str) -> URL:
    return make_url(database_url).set(drivername="postgresql+psycopg")


def make_engine(
    database_url: str, pool_size: int, pool_timeout_seconds: float, application_name: str, in_order: bool = False
) -> Engine:
    """`in_order`: whoever waits for a connection is passed by nobody."""
    options = (
        f"-c lock_timeout={LOCK_TIMEOUT_MS} -c statement_timeout={STATEMENT_TIMEOUT_MS}"
        f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS} -c timezone=UTC"
    )
    engine = create_engine(
        _psycopg_url(database_url),
        poolclass=FairPool if in_order else QueuePool,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=pool_timeout_seconds,
        pool_use_lifo=True,
        skip_autocommit_rollback=True,
        connect_args={"application_name": application_name, "options": options, "connect_timeout": 5},
    )
    metrics.connections_max.set(pool_size)
    # On the pool, not the engine: a pool that is made anew after a lost connection inherits them.
    event.listen(engine.pool, "checkout", lambda *_: metrics.connections_in_use.inc())
    event.listen(engine.pool, "checkin", lambda *_: metrics.connections_in_use.dec())
    event.listen(engine, "connect", _ask_the_time)
    event.listen(engine, "engine_connect", _begin_transactions)
    event.listen(engine, "handle_error", _leave_a_server_that_turned_us_away)
    return engine


def _ask_the_time(connection: "psycopg.Connection[Any]", _: object) -> None:
    connection.autocommit = True
    for (now,) in connection.execute("SELECT clock_timestamp()"):
        set_clock(now)
    connection.autocommit = False


def _begin_transactions(connection: Connection) -> None:
    """What `app.store.looks` asks for leaves a connection without them."""
    driver = connection.connection.driver_connection
    if driver is not None and driver.autocommit:
        driver.autocommit = False


def _leave_a_server_that_turned_us_away(context: ExceptionContext) -> BaseException | None:
    """To SQLAlchemy these are internal errors; to whoever asked, the database is away.

    After a failover a connection may still lead to the server that was the first one, and would for ever: the whole
    pool is made anew. And a process that froze in a transaction finds its connection closed.
    """
    if not isinstance(context.original_exception, (ServerOnlyReads, psycopg.errors.IdleInTransactionSessionTimeout)):
        return None
    context.is_disconnect = True
    return OperationalError(context.statement, context.parameters, context.original_exception)


def statements(engine: Engine) -> Connection:
    """For looks at the database: each statement is a transaction, one trip to Postgres where a block around it makes
    three. One statement sees one snapshot; several may not see the same."""
    return engine.connect().execution_options(isolation_level="AUTOCOMMIT")


def make_migration_engine(database_url: str) -> Engine:
    """One connection, no limits of time but those that a migration sets itself."""
    engine = create_engine(_psycopg_url(database_url), poolclass=NullPool, connect_args={"connect_timeout": 5})
    event.listen(engine, "handle_error", _leave_a_server_that_turned_us_away)
    return engine


ServerOnlyReads = psycopg.errors.ReadOnlySqlTransaction

DatabaseAway = (OperationalError, InterfaceError, PoolTimeout, psycopg.OperationalError, ServerOnlyReads)
"""What is raised when Postgres cannot be reached, refuses, or has no connection to spare."""

ConnectionLost = psycopg.OperationalError
"""What breaks off in the middle raises this."""

SchemaMissing = ProgrammingError
"""What a query raises while the tables are not there: `debate db upgrade` was not run."""
