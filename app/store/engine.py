"""The connections to Postgres of one process: one psycopg_pool. SQLAlchemy's engine takes its connections from it
(`begin`, `connect`), as do statements that are too frequent for SQLAlchemy's overhead (`autocommit`)."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg_pool import ConnectionPool, PoolTimeout
from sqlalchemy import URL, create_engine, event, make_url
from sqlalchemy import Connection as Connection
from sqlalchemy import Engine as SqlAlchemyEngine
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.pool import NullPool

from app.observe import metrics
from app.store.clock import set_clock
from app.store.error_texts import without_statement, without_values

# Transactions are short: waiting this long for a lock means that something is broken.
LOCK_TIMEOUT_MS = 5_000
STATEMENT_TIMEOUT_MS = 30_000
# A process that freezes in a transaction must not block others.
IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000
PLAN_ONCE = " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off"
"""Otherwise Postgres plans the first five runs of a prepared statement, which takes longer than to run it. And a plan
for a small table, which reads all of it, is kept while the table grows."""
RECONNECT_SECONDS = 0.5
"""The pool's default backs off for minutes, and would find a recovered server minutes late."""
CONNECT_SECONDS = 5
MOST_CONNECTING = 3
"""Connections that a pool makes concurrently."""
FAILURE_POLL_SECONDS = 0.1
"""How often a caller that waits for a first connection checks whether the attempt to connect has failed."""

ServerOnlyReads = psycopg.errors.ReadOnlySqlTransaction
_TurnedAway = (ServerOnlyReads, psycopg.errors.IdleInTransactionSessionTimeout)

DatabaseUnavailable = (OperationalError, InterfaceError, psycopg.OperationalError, ServerOnlyReads)
"""The exceptions raised when Postgres is unreachable, refuses, or has no free connection."""

ConnectionLost = psycopg.OperationalError
"""The exception raised when a connection is lost during a statement."""

RefusedRows = (DataError, IntegrityError)
"""The exceptions raised when Postgres refuses a row, so that a retry does not help."""

SchemaMissing = ProgrammingError
"""The exception raised when tables are missing: run `debate db upgrade`."""

# The pool logs every failed attempt to connect, with Postgres' own message; callers log the outage.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)

OnError = Callable[[BaseException], None]


class NumberLoader(Loader):
    """Reads `numeric`, the type of sums and means, as an int or a float: a Decimal would become a text in JSON."""

    def load(self, data: Buffer) -> int | float:
        digits = bytes(data)
        return int(digits) if digits.removeprefix(b"-").isdigit() else float(digits)


def _psycopg_url(database_url: str) -> URL:
    return make_url(database_url).set(drivername="postgresql+psycopg")


class Engine:
    def __init__(
        self,
        database_url: str,
        pool_size: int,
        pool_timeout_seconds: float,
        application_name: str,
        plan_once: bool = False,
        is_counted: bool = True,
    ) -> None:
        """`plan_once`: a connection plans each statement once, for any parameters and for tables of any size.
        `is_counted`: the metrics of connections count those of this pool."""
        self._made_of = (database_url, application_name, plan_once)
        self._is_counted = is_counted
        self._timeout_seconds = pool_timeout_seconds
        self._is_connected = False
        self._failures = 0
        self._failure = ""
        self._on_error: list[OnError] = []
        self._on_lost: Callable[[], None] = lambda: None
        self._lent: set[psycopg.Connection[Any]] = set()
        """To SQLAlchemy."""
        options = (
            f"-c lock_timeout={LOCK_TIMEOUT_MS} -c statement_timeout={STATEMENT_TIMEOUT_MS}"
            f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS} -c timezone=UTC -c jit=off"
            f"{PLAN_ONCE if plan_once else ''}"
        )
        self._pool: ConnectionPool[psycopg.Connection[Any]] = ConnectionPool(
            make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False),
            connection_class=self._connection_class(),
            kwargs={"application_name": application_name, "options": options, "connect_timeout": CONNECT_SECONDS},
            min_size=0,
            max_size=pool_size,
            num_workers=min(MOST_CONNECTING, pool_size),
            configure=_configure,
            reconnect_timeout=RECONNECT_SECONDS,
            name=application_name,
            open=True,
        )
        self.sqlalchemy: SqlAlchemyEngine = create_engine(
            _psycopg_url(database_url),
            poolclass=NullPool,
            creator=self._lend,
            hide_parameters=True,
            skip_autocommit_rollback=True,
        )
        if is_counted:
            metrics.connections_max.set(pool_size)
        event.listen(self.sqlalchemy, "checkout", lambda *_: self._count_in_use(1))
        event.listen(self.sqlalchemy, "checkin", lambda *_: self._count_in_use(-1))
        event.listen(self.sqlalchemy, "engine_connect", _begin_transactions)
        event.listen(self.sqlalchemy, "handle_error", self._handle_error)

    def reserve_connection(self) -> "Engine":
        """An engine with one more connection, for a caller that must not wait for the pool."""
        database_url, application_name, plan_once = self._made_of
        reserved = Engine(database_url, 1, CONNECT_SECONDS, application_name, plan_once, is_counted=False)
        reserved._on_lost = self._replace_connections
        return reserved

    def begin(self) -> AbstractContextManager[Connection]:
        """A transaction, committed at the end of the block."""
        return self.sqlalchemy.begin()

    def connect(self) -> Connection:
        return self.sqlalchemy.connect()

    def statements(self) -> Connection:
        """For reads: each statement is a transaction with its own snapshot, in one round trip instead of three."""
        return self.connect().execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def autocommit(self) -> Iterator["psycopg.Connection[Any]"]:
        """A psycopg connection on which each statement is a transaction."""
        connection = self._take()
        self._count_in_use(1)
        try:
            # The connection stays in this mode: switching back would cost as much as a small statement.
            if not connection.autocommit:
                connection.autocommit = True
            yield connection
        except BaseException as problem:
            self._failed(problem, connection.closed)
            raise
        finally:
            self._count_in_use(-1)
            self._pool.putconn(connection)

    def on_error(self, listener: OnError) -> None:
        """Calls `listener` with what Postgres or psycopg raised, on any path."""
        self._on_error.append(listener)

    def dispose(self) -> None:
        self._pool.close()

    def _count_in_use(self, change: int) -> None:
        if self._is_counted:
            metrics.connections_in_use.inc(change)

    def _take(self) -> "psycopg.Connection[Any]":
        if self._is_connected:
            return self._pool.getconn(self._timeout_seconds)
        # The pool would let its callers wait for their whole timeout, also while the server refuses connections.
        failures, until = self._failures, time.monotonic() + CONNECT_SECONDS + 1
        while True:
            try:
                return self._pool.getconn(FAILURE_POLL_SECONDS)
            except PoolTimeout:
                if self._failures > failures:
                    raise psycopg.OperationalError(self._failure) from None
                if time.monotonic() > until:
                    raise

    def _lend(self) -> "psycopg.Connection[Any]":
        """To SQLAlchemy, which closes a connection when it is done with it: that returns it to the pool."""
        connection = self._take()
        self._lent.add(connection)
        return connection

    def _connection_class(self) -> "type[psycopg.Connection[Any]]":
        """Reports to this engine whether the server is reachable; the pool itself would only log it."""
        engine = self

        class TrackedConnection(psycopg.Connection[Any]):
            @classmethod
            def connect(cls, *args: Any, **options: Any) -> "psycopg.Connection[Any]":  # type: ignore[override]
                try:
                    connection = super().connect(*args, **options)
                except psycopg.Error as problem:
                    engine._is_connected = False
                    engine._failure = str(problem)
                    engine._failures += 1
                    raise
                engine._is_connected = True
                return connection

            def close(self) -> None:
                # Not the pool's `close_returns`: a lost connection would keep its place in the pool.
                if self in engine._lent:
                    engine._lent.discard(self)
                    engine._pool.putconn(self)
                else:
                    super().close()

        return TrackedConnection

    def _failed(self, problem: BaseException, is_lost: bool) -> None:
        """Replaces all connections if this one is lost or leads to a former primary."""
        without_values(problem)
        for listener in self._on_error:
            listener(problem)
        if is_lost or isinstance(problem, _TurnedAway):
            self._replace_connections()
            self._on_lost()

    def _replace_connections(self) -> None:
        # The next caller fails immediately if the server refuses a new connection.
        self._is_connected = False
        self._pool.drain()

    def _handle_error(self, context: ExceptionContext) -> BaseException | None:
        self._failed(context.original_exception, context.is_disconnect)
        if context.sqlalchemy_exception is not None:
            without_statement(context.sqlalchemy_exception)
        return _as_disconnect(context)


@contextmanager
def driver_of(connection: Connection) -> Iterator["psycopg.Connection[Any]"]:
    """psycopg's connection, in SQLAlchemy's transaction."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)  # noqa: S101 (the engine's dialect)
    try:
        yield driver
    except psycopg.Error as problem:
        without_values(problem)
        raise


def _as_disconnect(context: ExceptionContext) -> BaseException | None:
    """SQLAlchemy takes these for internal errors; to the caller the database is unavailable."""
    if not isinstance(context.original_exception, _TurnedAway):
        return None
    context.is_disconnect = True
    return OperationalError(None, None, context.original_exception)


def _configure(connection: "psycopg.Connection[Any]") -> None:
    connection.adapters.register_loader("numeric", NumberLoader)
    connection.autocommit = True
    for (now,) in connection.execute("SELECT clock_timestamp()"):
        set_clock(now)


def _begin_transactions(connection: Connection) -> None:
    """`Engine.autocommit` leaves connections without them."""
    driver = connection.connection.driver_connection
    if driver is not None and driver.autocommit:
        driver.autocommit = False


def make_migration_engine(database_url: str) -> SqlAlchemyEngine:
    """One connection, no limits of time but those that a migration sets itself."""
    engine = create_engine(
        _psycopg_url(database_url),
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={"connect_timeout": CONNECT_SECONDS},
    )
    event.listen(engine, "handle_error", _as_disconnect)
    return engine
