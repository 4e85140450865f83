"""How many rows the planner expects of a query."""

import time
from typing import Any

import psycopg
from sqlalchemy import Select

from app.store.statements import Statement


class RowEstimate:
    """How many rows the planner expects of a query. Cached: the statistics behind it change once a minute at most."""

    CACHE_SECONDS = 10

    def __init__(self, query: Select[Any]) -> None:
        self._plan = Statement(query, "EXPLAIN (FORMAT JSON) ")
        self._rows = 0
        self._expires_at = 0.0

    def rows_on(self, connection: "psycopg.Connection[Any]") -> int:
        now = time.monotonic()
        if now >= self._expires_at:
            [(plan,)] = self._plan.rows_on(connection)
            self._rows = int(plan[0]["Plan"]["Plan Rows"])
            self._expires_at = now + self.CACHE_SECONDS
        return self._rows
