"""One worker process: what it is made of, how it starts and how it ends."""

import contextlib
import os
import secrets
import socket
import threading
from collections.abc import Callable
from functools import partial

from app import tracing
from app.bootstrap import build_services, close_services
from app.settings import RULES_ALONE, ProviderSettings, Settings, TracingSettings
from app.store.engine import DatabaseAway
from app.store.sweeping import WORKER_SEEN_SECONDS
from app.usecases import advance, evaluate
from app.usecases.sweep import sweep, sweep_evaluations, worker_gone, worker_seen
from worker.background import Repeat
from worker.claims import ClaimKeeper
from worker.evaluators.model import ModelEvaluator
from worker.fairness import Fairness
from worker.guardrail import Guardrail
from worker.metrics_server import show_metrics
from worker.players.models.calls import ModelCalls
from worker.players.models.player import ModelPlayer
from worker.players.registry import player_for
from worker.runner import Runner

SWEEP_EVERY_SECONDS = 1.0
LOOK_AT_CLAIMS_EVERY_SECONDS = 0.4
"""A stop ends a call to a model within a second: this, and a moment to hang up."""
MOST_DATABASE_CONNECTIONS = 16
"""Thinking needs none, so a few serve a hundred threads."""
CONNECTION_PATIENCE_SECONDS = 60.0
"""A thought that was paid for is worth waiting for a connection to store it."""
FINISH_SECONDS = 8.0
"""After SIGTERM turns in hand may finish for this long; then they are handed back."""


class WorkerProcess:
    def __init__(self, settings: Settings) -> None:
        self.worker_id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        connections = min(settings.worker_concurrency + 2, MOST_DATABASE_CONNECTIONS)
        self._services = build_services(
            settings,
            name="debate-worker",
            database_connections=connections,
            patience_seconds=CONNECTION_PATIENCE_SECONDS,
        )
        self.refused = self._services.refused
        self._shutting_down = threading.Event()
        self._end_metrics: Callable[[], None] = lambda: None
        self._keeper = ClaimKeeper(
            partial(advance.renew_claims, self._services), partial(advance.claims_that_hold, self._services)
        )
        self._models = ModelCalls(self._services, self.worker_id, ProviderSettings())
        self.runner = Runner(
            self._services,
            self.worker_id,
            self._keeper,
            Fairness(self._services.tasks.waiting),
            partial(player_for, models=ModelPlayer(self._models, self._services.teller.publish)),
            self._shutting_down,
        )
        self._evaluations = ClaimKeeper(partial(evaluate.renew_claims, self._services))
        chosen = settings.guardrail
        evaluator = None if chosen == RULES_ALONE else ModelEvaluator(self._models, chosen)
        self.guardrail = Guardrail(self._services, self._evaluations, evaluator)
        self._repeated = [
            # Claims that hold for long must not make the worker itself look dead.
            Repeat("keep_alive", min(settings.claim_seconds, WORKER_SEEN_SECONDS) / 4, self._keep_alive),
            Repeat("claims", LOOK_AT_CLAIMS_EVERY_SECONDS, self._look_at_claims),
            Repeat("sweeper", SWEEP_EVERY_SECONDS, partial(sweep, self._services)),
            Repeat("guardrail_sweeper", SWEEP_EVERY_SECONDS, partial(sweep_evaluations, self._services)),
        ]

    def start(self) -> None:
        tracing.start("debate-worker", TracingSettings())
        self._end_metrics = show_metrics(self._services.settings)
        for thread in self._repeated:
            thread.start()
        # A worker may start before its database: then the thread that keeps it alive says it a little later.
        with contextlib.suppress(*DatabaseAway):
            worker_seen(self._services, self.worker_id)

    def _look_at_claims(self) -> None:
        # A database that is away is told of by the thread that keeps claims alive, and less often.
        with contextlib.suppress(*DatabaseAway):
            self._keeper.look_at_all()

    def _keep_alive(self) -> None:
        self._keeper.renew_all()
        self._evaluations.renew_all()
        worker_seen(self._services, self.worker_id)

    def begin_shutdown(self) -> None:
        """No new turns. Those in hand finish, or are handed back when their time is up."""
        self._shutting_down.set()
        timer = threading.Timer(FINISH_SECONDS, self._hand_back)
        timer.daemon = True
        timer.start()

    def _hand_back(self) -> None:
        self._keeper.cancel_all()
        self._evaluations.cancel_all()

    def end(self) -> None:
        for thread in self._repeated:
            thread.stop()
        self._end_metrics()
        self._models.close()
        # Else it is forgotten when it was not seen for a while.
        with contextlib.suppress(*DatabaseAway):
            worker_gone(self._services, self.worker_id)
        close_services(self._services)
        tracing.end()
