"""One worker process: its parts, its start and its end.

Celery delivers hints. One event loop, in its own thread, claims, generates and commits; a few threads run its
statements. Other threads receive ended claims, sweep, index texts, and watch the loop.
"""

import asyncio
import os
import secrets
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

import structlog
from prometheus_client import start_http_server
from redis import Redis

from app.bootstrap import build_services, close_services
from app.observe import metrics, tracing
from app.observe.threads import SupervisedThread
from app.settings import RULES_ALONE, ProviderSettings, Settings, TracingSettings
from app.usecases.services import Services
from app.usecases.sweep import UPKEEP, Upkeep
from worker.background import Repeat
from worker.claim_loop import ClaimLoop
from worker.claim_notices import listen_for_ended_claims
from worker.evaluators.model import ModelEvaluator
from worker.feeder import Feeder
from worker.guardrail import Evaluations
from worker.judging import JudgmentWork
from worker.lease import Lease
from worker.players.models.calls import ModelCalls
from worker.players.models.player import ModelPlayer
from worker.players.registry import player_for
from worker.turns import Turns
from worker.watchdog import Watchdog
from worker.webhooks import Deliveries

log = structlog.get_logger(__name__)

TURN_THREADS = 3
"""For statements of debates, so that no turn waits for a thread behind other work."""
OTHER_THREADS = 2
"""For judgments, evaluations, experiments and webhooks. Each thread holds a connection while its statement runs."""
POOL_CONNECTIONS = TURN_THREADS + OTHER_THREADS + 2
"""Also for upkeep, slots and records of model calls, which each take a moment."""
DATABASE_CONNECTIONS = POOL_CONNECTIONS + 1
CONNECTION_TIMEOUT_SECONDS = 20.0
HINT_TIMEOUT_SECONDS = 1.0
"""How long a task waits while its worker wants no hints. Tasks of the other kind wait behind it."""
FINISH_SECONDS = 8.0
"""After SIGTERM turns in flight may finish for this long; then they are released."""


def worker_services(settings: Settings) -> Services:
    return build_services(
        settings,
        name="debate-worker",
        database_connections=POOL_CONNECTIONS,
        connection_timeout_seconds=CONNECTION_TIMEOUT_SECONDS,
        plan_once=True,
    )


class WorkerProcess:
    def __init__(self, settings: Settings) -> None:
        self.worker_id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._settings = settings
        self._services = worker_services(settings)
        self._turn_threads = ThreadPoolExecutor(TURN_THREADS, "turns")
        self._other_threads = ThreadPoolExecutor(OTHER_THREADS, "others")
        self._ending = threading.Event()
        self._end_metrics: Callable[[], None] = lambda: None
        self._loop = asyncio.new_event_loop()
        self._loop_thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
        self._watchdog = Watchdog(self._loop, settings.worker_hang_seconds)
        self._upkeep = [
            Repeat(one.name, one.every_seconds, partial(self._run_upkeep, one), self._ending) for one in UPKEEP
        ]
        self._notices = SupervisedThread("claim_notices", self._listen, self._ending)

    def start(self) -> None:
        tracing.start(TracingSettings().service_name("debate-worker"))
        self._end_metrics = _show_metrics(self._settings)
        self._loop_thread.start()
        self._watchdog.start()
        self._run(self._start_on_loop())
        for upkeep in self._upkeep:
            upkeep.start()
        self._notices.start()

    async def _start_on_loop(self) -> None:
        services = self._services
        self._lease = Lease(services, self.worker_id, self._end_all_claims)
        self._models = ModelCalls(services, self.worker_id, ProviderSettings(), lambda: self._lease.worker_id)
        models = ModelPlayer(self._models, services.publisher.publish)
        find_player = partial(player_for, models=models)
        chosen = self._settings.guardrail
        evaluator = None if chosen == RULES_ALONE else ModelEvaluator(self._models, chosen)
        lease, others = self._lease, self._other_threads
        self._judgments = ClaimLoop(lease, JudgmentWork(services, others, find_player))
        self._feeder = Feeder(services, lease, others, self._judgments.hint)
        self._turns = ClaimLoop(lease, Turns(services, lease, self._turn_threads, find_player, self._feeder.hint))
        self._evaluations = ClaimLoop(lease, Evaluations(services, others, evaluator))
        deliveries = ClaimLoop(lease, Deliveries(services, others))
        self._claim_loops = (self._turns, self._evaluations, self._judgments, deliveries)
        for part in (lease, *self._claim_loops, self._feeder):
            part.start()

    def hint_debate(self, debate_id: UUID) -> None:
        """Called by Celery's thread, which reads no further task meanwhile."""
        self._turns.wants_hints.wait(HINT_TIMEOUT_SECONDS)
        self._on_loop(self._turns.hint, debate_id)

    def hint_evaluation(self) -> None:
        self._on_loop(self._evaluations.hint)
        self._on_loop(self._judgments.hint)
        self._on_loop(self._feeder.wake)

    def end(self) -> None:
        self._run(self._end_on_loop())
        self._ending.set()
        self._end_metrics()
        self._watchdog.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._loop_thread.join(5)
        close_services(self._services)
        tracing.end()

    async def _end_on_loop(self) -> None:
        await asyncio.gather(*(part.shut_down(FINISH_SECONDS) for part in (self._feeder, *self._claim_loops)))
        await self._models.close()
        await self._lease.end()

    def _end_all_claims(self) -> None:
        for claim_loop in self._claim_loops:
            claim_loop.end_all_claims()

    def _run_upkeep(self, upkeep: Upkeep) -> None:
        if self._lease.may_sweep or not upkeep.needs_lease:
            upkeep.run(self._services)

    def _listen(self) -> None:
        redis = Redis.from_url(
            str(self._settings.redis_url), socket_timeout=5, socket_connect_timeout=3, health_check_interval=5
        )
        listen_for_ended_claims(
            redis,
            self._ending,
            on_ended=lambda token: self._on_loop(self._turns.end_claim, token),
            on_gap=lambda: self._on_loop(self._turns.compare_soon),
        )

    def _on_loop(self, action: Callable[..., None], *args: object) -> None:
        self._loop.call_soon_threadsafe(action, *args)

    def _run(self, work: Coroutine[object, object, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _show_metrics(settings: Settings) -> Callable[[], None]:
    """Over HTTP, at DEBATE_METRICS_PORT if it is set and free. Returns the function that ends it."""
    if settings.metrics_port is None:
        return lambda: None
    try:
        server, thread = start_http_server(settings.metrics_port, settings.metrics_host, metrics.REGISTRY)
    except OSError as problem:
        address = f"{settings.metrics_host}:{settings.metrics_port}"
        log.error("metrics.bind_failed", address=address, problem=str(problem))
        return lambda: None

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join(5)

    return end
