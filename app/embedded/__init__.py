"""Postgres and Valkey from wheels, in one data directory, shared by every process that uses it.

    with EmbeddedServers(data_dir) as urls:
        psycopg.connect(urls.database_url), redis.from_url(urls.redis_url)

README.md in this folder explains the processes and locks.
"""

from app.embedded.errors import EmbeddedError
from app.embedded.servers import EmbeddedServers, ServerUrls, has_database

__all__ = ["EmbeddedError", "EmbeddedServers", "ServerUrls", "has_database"]
