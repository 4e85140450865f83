"""Databases for tests. One is emptied for the next test: that takes far less time than making one."""

import itertools

import psycopg

from app.embedded import ServerUrls

MOST_GROWTH_BYTES = 4_000_000
"""What was larger is not used again: rows that were deleted would still be there to be read past."""
EMPTY = """
SET session_replication_role = replica;
DO $$ DECLARE one text; BEGIN
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


class Databases:
    def __init__(self, servers: ServerUrls) -> None:
        self._servers = servers
        self._numbers = itertools.count(1)
        self._idle: list[str] = []
        self._size, self._schema = self._fingerprint("debate")

    def url(self, name: str) -> str:
        return self._servers.database_url.replace("/debate?", f"/{name}?")

    def make(self) -> str:
        """The name of an empty one."""
        if self._idle:
            return self._idle.pop()
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE debate")
        return name

    def take_back(self, name: str) -> None:
        """Empties it for the next test, or drops it if the test changed more than rows."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            # A killed program's session may still hold a lock.
            ending = "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE datname = %s"
            connection.execute(ending, [name])
            if self._is_as_made(name):
                with psycopg.connect(self.url(name), autocommit=True) as emptied:
                    emptied.execute(EMPTY)
                self._idle.append(name)
            else:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _is_as_made(self, name: str) -> bool:
        size, schema = self._fingerprint(name)
        return size - self._size < MOST_GROWTH_BYTES and schema == self._schema

    def _fingerprint(self, name: str) -> tuple[int, list[str]]:
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            found: tuple[int, list[str]] | None = connection.execute(FINGERPRINT).fetchone()
        assert found
        return found
