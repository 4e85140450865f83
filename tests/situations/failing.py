"""Databases that are slow, full or closed to everyone: by triggers, locks and settings, until the test is over."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
from harness import Place
from psycopg.conninfo import conninfo_to_dict

_WAIT = """
CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
WHILE NOT pg_try_advisory_xact_lock_shared(1) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN NEW; END $$
"""
_RAISE_FULL = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$
"""


@contextmanager
def writes_waiting(place: Place, write: str, condition: str = "true") -> Iterator[None]:
    """A write (`INSERT ON turns`) waits in the middle of its statement until the block is over."""
    place.sql(_WAIT)
    place.sql(f"CREATE TRIGGER wait_here BEFORE {write} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION wait_here()")
    with psycopg.connect(str(place.settings.database_url), autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(1)")
        yield


def fill_disk(place: Place) -> None:
    """There is no room for another turn."""
    place.sql(_RAISE_FULL)
    place.sql("CREATE TRIGGER no_room BEFORE INSERT ON turns FOR EACH ROW EXECUTE FUNCTION no_room()")


@contextmanager
def _altered(place: Place, meanwhile: str, afterwards: str) -> Iterator[None]:
    """The database has lost its connections, and this is what new ones find."""
    given = conninfo_to_dict(str(place.settings.database_url))
    name = given.pop("dbname")
    with psycopg.connect(**{**given, "dbname": "postgres"}, autocommit=True) as other:
        other.execute(f"ALTER DATABASE {name} {meanwhile}")
        other.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield
        finally:
            other.execute(f"ALTER DATABASE {name} {afterwards}")


def refusing_connections(place: Place) -> AbstractContextManager[None]:
    return _altered(place, "ALLOW_CONNECTIONS false", "ALLOW_CONNECTIONS true")


def read_only(place: Place) -> AbstractContextManager[None]:
    """As the first server of before a failover is. Sessions of that time stay so when it is over."""
    setting = "SET default_transaction_read_only"
    return _altered(place, f"{setting} = on", f"{setting} = off")


@contextmanager
def locking(place: Place, *debate_ids: object) -> Iterator["psycopg.Connection"]:
    """Another transaction holds the rows of these debates, or of every debate."""
    with psycopg.connect(str(place.settings.database_url)) as other:
        wanted = list(debate_ids) or [row[0] for row in place.sql("SELECT id FROM debates")]
        other.execute("SELECT FROM debates WHERE id = ANY(%s) FOR UPDATE", [wanted])
        yield other
