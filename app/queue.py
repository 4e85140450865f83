"""The task queue: Celery on Redis. Tasks are sent by name, so nothing here knows the worker's code."""

from typing import Any
from uuid import UUID

from celery import Celery
from kombu.exceptions import OperationalError
from redis import Redis
from redis.connection import parse_url
from redis.exceptions import ReadOnlyError, RedisError

ADVANCE_DEBATE = "advance_debate"
DEBATES_QUEUE = "debates"
EVALUATE = "evaluate_contribution"
GUARDRAIL_QUEUE = "guardrail"
QUEUES = (DEBATES_QUEUE, GUARDRAIL_QUEUE)
"""Every worker takes from both, by turns: a flood of one does not hold up the other."""
_CHECK = "debate:check"
VISIBILITY_TIMEOUT_SECONDS = 3600
"""Redis hands a task out again when it was not acknowledged for this long. Longer than any slice of a worker."""


SILENCE_SECONDS = 5


class QueueUnavailable(Exception):
    """The broker did not take or give an answer."""


def make_celery(redis_url: str) -> Celery:
    celery = Celery("debate-runner")
    celery.conf.update(
        broker_url=_broker_url(redis_url),
        broker_use_ssl=_tls(redis_url),
        task_default_queue=DEBATES_QUEUE,
        task_routes={EVALUATE: {"queue": GUARDRAIL_QUEUE}},
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        # A Redis that is full or a replica refuses what the worker asks: that passes, and is no reason to die.
        broker_channel_error_retry=True,
        broker_transport_options={
            "visibility_timeout": VISIBILITY_TIMEOUT_SECONDS,
            "socket_connect_timeout": 3,
            "socket_timeout": 10,
            "socket_keepalive": True,
            # A worker that has no answer for this long (and a second) takes its connection for dead.
            "health_check_interval": SILENCE_SECONDS,
        },
    )
    return celery


def _broker_url(redis_url: str) -> str:
    """Celery spells a unix socket its own way."""
    if redis_url.startswith("unix://"):
        path, _, query = redis_url.removeprefix("unix://").partition("?")
        database = dict(pair.split("=", 1) for pair in query.split("&") if "=" in pair).get("db", "0")
        return f"redis+socket://{path}?virtual_host={database}"
    return redis_url


def _tls(redis_url: str) -> dict[str, Any] | None:
    """What the address says about TLS. Celery by itself would not look at it, and believe any certificate."""
    if not redis_url.startswith("rediss://"):
        return None
    options: dict[str, Any] = parse_url(redis_url)  # type: ignore[no-untyped-call]
    said = {name: value for name, value in options.items() if name.startswith("ssl_")}
    return {"ssl_cert_reqs": "required", **said}


class TaskQueue:
    def __init__(self, celery: Celery, redis: "Redis") -> None:
        self._celery = celery
        self._redis = redis

    def send(self, debate_id: UUID) -> None:
        """Asks for somebody to look at this debate."""
        self._send(ADVANCE_DEBATE, debate_id)

    def send_evaluation(self, evaluation_id: UUID) -> None:
        """Asks for somebody to evaluate a contribution."""
        self._send(EVALUATE, evaluation_id)

    def check(self) -> None:
        """Raises what queueing would, without queueing: a Redis that is full, or a replica, answers questions only."""
        try:
            self._redis.set(_CHECK, "1", ex=60)
        except RedisError as problem:
            raise self._unavailable(problem) from problem

    def length(self, queue: str = DEBATES_QUEUE) -> int:
        """How many tasks wait for a worker."""
        try:
            return int(self._redis.llen(queue))
        except RedisError as problem:
            raise QueueUnavailable(str(problem)) from problem

    def waiting(self) -> int:
        """How many tasks of any kind wait for a worker."""
        return sum(self.length(queue) for queue in QUEUES)

    def _send(self, task: str, about: UUID) -> None:
        try:
            self._celery.send_task(task, args=[str(about)], retry=False)
        except (OperationalError, RedisError, OSError) as problem:
            raise self._unavailable(problem) from problem

    def _unavailable(self, problem: Exception) -> QueueUnavailable:
        if isinstance(problem, ReadOnlyError):
            # After a failover a connection may still lead to the server that was the first one, and would for ever.
            for pool in (self._celery.producer_pool, self._celery.pool):
                pool.force_close_all(close_pool=False)
            self._redis.connection_pool.disconnect()
        return QueueUnavailable(str(problem))
