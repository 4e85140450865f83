"""The time from the death of a worker until another worker claims its debates."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg

from scripts.breaking.stage import Stage

LOOK_SECONDS = 0.25


class Recovery:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._lock = threading.Lock()
        self._expected: dict[Any, tuple[Any, float]] = {}
        self.seconds: list[float] = []

    def expect(self, held: Sequence[tuple[Any, ...]]) -> None:
        """Claims (debate id, token) of a worker that was killed just now."""
        with self._lock:
            for debate_id, token in held:
                self._expected.setdefault(debate_id, (token, time.monotonic()))

    def watch(self, ending: threading.Event) -> None:
        while not ending.wait(LOOK_SECONDS):
            with suppress(psycopg.Error):
                self._look()

    @property
    def still_waiting(self) -> int:
        return len(self._expected)

    def _look(self) -> None:
        with self._lock:
            expected = dict(self._expected)
        if not expected:
            return
        with self._stage.connect() as connection:
            rows = connection.execute(
                "SELECT id, claim_token, claim_token IS NULL AND due_at <= now() FROM debates WHERE id = ANY(%s)",
                (list(expected),),
            ).fetchall()
        for debate_id, token, is_waiting in rows:
            held, since = expected[debate_id]
            # Claimed by another worker, advanced by an agent or person, or closed; not only released.
            if token != held and not is_waiting:
                with self._lock:
                    del self._expected[debate_id]
                    self.seconds.append(time.monotonic() - since)
