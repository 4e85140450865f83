"""Postgres and Valkey out of wheels, under a data directory of our own, shared by every process that uses it.

    with EmbeddedServers(data_dir) as urls:
        psycopg.connect(urls.database_url), redis.from_url(urls.redis_url)

How it holds together: see README.md in this folder.
"""

from app.embedded.errors import EmbeddedError
from app.embedded.servers import EmbeddedServers, ServerUrls

__all__ = ["EmbeddedError", "EmbeddedServers", "ServerUrls"]
