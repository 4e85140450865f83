"""What is broken, and how often."""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import psycopg
import redis
from kombu.exceptions import OperationalError as QueueAway

from app.messaging.queue import make_celery
from scripts.breaking.recovery import Recovery
from scripts.breaking.stage import Program, Stage

LONGEST_FREEZE_SECONDS = 12.0
ON_THE_WAY = (psycopg.OperationalError, redis.ConnectionError, redis.TimeoutError, QueueAway, OSError)
"""A fault that cannot be injected because an earlier one is still at work is not counted. Any other error is ours."""
INTERRUPTS_CALLS = ("worker", "Postgres")
"""Faults of these may keep what came of a call from being stored."""


class Faults:
    def __init__(self, stage: Stage, chance: random.Random, recovery: Recovery) -> None:
        self._stage = stage
        self._chance = chance
        self._recovery = recovery
        self._celery = make_celery(str(stage.settings.redis_url))
        self.injected: Counter[str] = Counter()
        self.interruptions: list[float] = []
        """The moments of faults that may have interrupted a call to a model, also of those that came to nothing."""
        self._kinds: list[tuple[str, int, Callable[[], None]]] = [
            ("worker killed (SIGKILL)", 6, self._kill_worker),
            ("worker stopped (SIGTERM)", 3, lambda: self._worker().send(signal.SIGTERM)),
            ("worker frozen (SIGSTOP) and thawed", 4, lambda: self._freeze(self._worker())),
            ("API process killed (SIGKILL)", 4, self._kill_api_process),
            ("API stopped (SIGTERM)", 2, lambda: self._api().send(signal.SIGTERM)),
            ("API frozen (SIGSTOP) and thawed", 2, lambda: self._freeze(self._api())),
            ("Redis emptied", 3, self._empty_redis),
            ("Redis killed", 2, lambda: os.kill(stage.valkey_pid(), signal.SIGKILL)),
            ("Postgres restarted (fast)", 1, lambda: os.kill(stage.postgres_pid(), signal.SIGINT)),
            ("Postgres crashed (immediate)", 1, lambda: os.kill(stage.postgres_pid(), signal.SIGQUIT)),
            ("Postgres backends killed", 5, self._kill_backends),
            ("tasks delivered twice, out of order", 5, self._repeat_tasks),
        ]

    def go_on(self, until: float, pause_seconds: float) -> None:
        weights = [weight for _, weight, _ in self._kinds]
        while time.monotonic() < until:
            time.sleep(self._chance.uniform(0.3, 1.7) * pause_seconds)
            [(name, _, inject)] = self._chance.choices(self._kinds, weights)
            if name.startswith(INTERRUPTS_CALLS):
                self.interruptions.append(time.monotonic())
            with suppress(*ON_THE_WAY):
                inject()
                self.injected[name] += 1

    def _worker(self) -> Program:
        return self._chance.choice(self._stage.workers)

    def _api(self) -> Program:
        return self._chance.choice(self._stage.apis)

    def _kill_worker(self) -> None:
        worker = self._worker()
        pid = worker.child.process.pid
        with self._stage.connect() as connection:
            held = connection.execute(
                "SELECT id, claim_token FROM debates WHERE claimed_by LIKE %s AND claim_token IS NOT NULL",
                (f"%:{pid}:%",),
            ).fetchall()
        worker.send(signal.SIGKILL)
        self._recovery.expect(held)

    def _kill_api_process(self) -> None:
        """Only the process that serves: its master stays, and starts another."""
        api = self._api()
        children = os.popen(f"ps -o pid= --ppid {api.child.process.pid}").read().split()  # noqa: S605 (a number of ours)
        for pid in children:
            os.kill(int(pid), signal.SIGKILL)

    def _freeze(self, program: Program) -> None:
        """Some freezes are longer than a claim: after the freeze another worker has the debates."""
        seconds = self._chance.uniform(0.5, LONGEST_FREEZE_SECONDS)
        program.send(signal.SIGSTOP)
        timer = threading.Timer(seconds, program.send, [signal.SIGCONT])
        timer.daemon = True
        timer.start()

    def _empty_redis(self) -> None:
        self._stage.redis.flushall()

    def _kill_backends(self) -> None:
        with self._stage.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity"
                " WHERE application_name LIKE 'debate-%' ORDER BY random() LIMIT 3) AS chosen"
            )

    def _repeat_tasks(self) -> None:
        with self._stage.connect() as connection:
            some = connection.execute("SELECT id FROM debates ORDER BY random() LIMIT 10").fetchall()
        for (debate_id,) in some * 2:
            self._celery.send_task("advance_debate", args=[str(debate_id)], retry=False)
