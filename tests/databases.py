"""Databases for tests. One is emptied for the next test: that takes far less time than making one."""

import itertools
import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from harness import Api, Place, wait_until

from app.embedded import ServerUrls
from app.store.engine import Engine

Answer = TypeVar("Answer")
MOST_GROWTH_BYTES = 4_000_000
"""What was larger is not used again: rows that were deleted would still be there to be read past."""
ENDING = """
SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name NOT LIKE 'debate-api:%'
"""
EMPTY = """
DO $$ DECLARE one text; BEGIN
    SET LOCAL lock_timeout = '5s';
    SET LOCAL session_replication_role = replica;
    FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
        EXECUTE format('DELETE FROM %I', one);
    END LOOP;
    PERFORM setval(format('%I', sequencename)::regclass, 1, false) FROM pg_sequences WHERE schemaname = 'public';
END $$
"""
# Whatever changes a table, a trigger, a function, a setting or the planner's statistics changes one of these.
FINGERPRINT = """
SELECT pg_database_size(current_database()), (
    SELECT array_agg(changes ORDER BY changes::text) FROM (
        SELECT (count(*), max(xmin::text::bigint), sum(reltuples))::text FROM pg_class WHERE oid > 16383
        UNION ALL SELECT (count(*), max(xmin::text::bigint), 1)::text FROM pg_attribute WHERE attrelid > 16383
        UNION ALL SELECT (count(*), max(xmin::text::bigint), 2)::text FROM pg_trigger
        UNION ALL SELECT (count(*), max(xmin::text::bigint), 3)::text FROM pg_proc
        UNION ALL SELECT (count(*), max(xmin::text::bigint), 4)::text FROM pg_constraint
        UNION ALL SELECT (count(*), max(xmin::text::bigint), 5)::text FROM pg_namespace
        UNION ALL SELECT (count(*), max(xmin::text::bigint), 6)::text FROM pg_statistic WHERE starelid > 16383
        UNION ALL SELECT (count(*), 0, 7)::text FROM pg_db_role_setting
    ) AS found (changes)
)
"""
REPORT_SECONDS = 1.0
"""Postgres: PGSTAT_MIN_INTERVAL."""
# Searches read these.
LISTED = ("debates", "debate_titles", "indexed_turns", "turns")
READ = "SELECT relname, seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = ANY(%s)"
SCANS = "SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'debates'"
CONNECTIONS_OF_APIS = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'debate-api:%%'
"""


class Databases:
    def __init__(self, servers: ServerUrls) -> None:
        self._servers = servers
        self._numbers = itertools.count(1)
        self._server = psycopg.connect(self.url("postgres"), autocommit=True)
        with psycopg.connect(self.url("debate"), autocommit=True) as connection:
            self._size, self._schema = _fingerprint(connection)

    def url(self, name: str) -> str:
        return self._servers.database_url.replace("/debate?", f"/{name}?")

    def make(self) -> str:
        """The name of an empty one."""
        name = f"test_{next(self._numbers)}"
        self._server.execute(f"CREATE DATABASE {name} TEMPLATE debate")
        return name

    def empty(self, place: Place) -> bool:
        """For the next test. False if the test changed more than rows, or a program that is left holds a lock."""
        place.sql("DISCARD ALL")
        session = place.session()
        # A killed program's session may still hold a lock. An API that stays keeps its own.
        session.execute(ENDING)
        size, schema = _fingerprint(session)
        if size - self._size >= MOST_GROWTH_BYTES or schema != self._schema:
            return False
        try:
            session.execute(EMPTY)
        except psycopg.errors.LockNotAvailable:
            return False
        return True

    def sessions_killed(self, name: str) -> int:
        """So far, by whomever."""
        query = "SELECT sessions_killed FROM pg_stat_database WHERE datname = %s"
        [(count,)] = self._server.execute(query, [name]).fetchall()
        return int(count)

    def drop(self, name: str) -> None:
        self._server.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def close(self) -> None:
        self._server.close()


def _fingerprint(connection: "psycopg.Connection[Any]") -> tuple[int, list[str]]:
    found: tuple[int, list[str]] | None = connection.execute(FINGERPRINT).fetchone()
    assert found
    return found


def rows_read(engine: Engine) -> dict[str, int]:
    """By table, since the database was made. The engine must have one connection in use: sessions report what they have
    read at most once a second by themselves, and only this one is asked to."""
    with engine.autocommit() as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        return dict(connection.execute(READ, [list(LISTED)]).fetchall())


class ApiReads:
    """How many rows an API reads, on its only connection. Every request of a test goes through this, or counts for the
    next one that does."""

    def __init__(self, place: Place, api: Api) -> None:
        self._place = place
        self._api = api
        # Neither rolls back, after which psycopg prepares everything anew, nor keeps a plan.
        self._one_more_scan = {"id": api.create(title="Scanned")["id"]}
        self._reported_at = 0.0
        self.report()

    def of(self, ask: Callable[[], Answer]) -> tuple[Answer, dict[str, int]]:
        """The answer, and the rows that were read for it, by table."""
        before = self._counts()
        answer = ask()
        self.report()
        return answer, {table: count - before[table] for table, count in self._counts().items()}

    def report(self) -> None:
        """A session reports its reads at the end of a statement, at most once a second. Where the count of scans rises
        now, it has reported all reads before this call. Looking for that reads a few rows more."""
        [(scans,)] = self._place.sql(SCANS)
        wait_until(lambda: time.monotonic() - self._reported_at > REPORT_SECONDS, 60, "the session may report")

        def has_reported() -> bool:
            self._api.http.get("/debates", params=self._one_more_scan).raise_for_status()
            return bool(self._place.sql(SCANS)[0][0] > scans)

        wait_until(has_reported, 60, "the API's session reports what it has read")
        self._reported_at = time.monotonic()
        assert self._place.sql(CONNECTIONS_OF_APIS) == [(1,)]

    def _counts(self) -> dict[str, int]:
        report_reads_of_the_test(self._place)
        return dict(self._place.sql(READ, list(LISTED)))


def report_reads_of_the_test(place: Place) -> None:
    """What the test itself has read so far does not count for what it measures next."""
    place.sql("SELECT pg_stat_force_next_flush()")
