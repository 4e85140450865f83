"""A database made read-only, as one is that was the first server before a failover."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from harness import Place
from psycopg.conninfo import conninfo_to_dict, make_conninfo


@contextmanager
def read_only(place: Place) -> Iterator[None]:
    """For every session; sessions of that time stay so when it is over."""
    url = str(place.settings.database_url)
    database = conninfo_to_dict(url)["dbname"]
    setting = f"ALTER DATABASE {database} SET default_transaction_read_only"
    with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as elsewhere:
        elsewhere.execute(f"{setting} = on")
        elsewhere.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database])
        try:
            yield
        finally:
            elsewhere.execute(f"{setting} = off")
