"""The task queue: Celery on Redis. Tasks are sent by name, so this module does not import the worker."""

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
"""Every worker alternates between both, so that a backlog in one does not block the other."""
_CHECK = "debate:check"
SILENCE_SECONDS = 5


class QueueUnavailable(Exception):
    """The broker did not answer."""


def make_celery(redis_url: str) -> Celery:
    celery = Celery("debate-runner")
    celery.conf.update(
        broker_url=_broker_url(redis_url),
        broker_use_ssl=_tls(redis_url),
        task_default_queue=DEBATES_QUEUE,
        # Tasks are hints, and the database has what a lost one asked for: none is acknowledged, which would cost
        # two of three trips to Redis for each.
        task_queues={name: {"exchange": name, "no_ack": True} for name in QUEUES},
        task_routes={EVALUATE: {"queue": GUARDRAIL_QUEUE}},
        task_ignore_result=True,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_disable_rate_limits=True,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        # A full Redis or a replica refuses writes: the worker retries instead of exiting.
        broker_channel_error_retry=True,
        broker_transport_options={
            "socket_connect_timeout": 3,
            "socket_timeout": 10,
            "socket_keepalive": True,
            # After this long (plus one second) without an answer a worker considers its connection dead.
            "health_check_interval": SILENCE_SECONDS,
        },
    )
    return celery


def _broker_url(redis_url: str) -> str:
    if redis_url.startswith("unix://"):
        path, _, query = redis_url.removeprefix("unix://").partition("?")
        database = dict(pair.split("=", 1) for pair in query.split("&") if "=" in pair).get("db", "0")
        return f"redis+socket://{path}?virtual_host={database}"
    return redis_url


def _tls(redis_url: str) -> dict[str, Any] | None:
    """The TLS options in the URL, which Celery ignores: it would accept any certificate."""
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
        self._send(ADVANCE_DEBATE, debate_id)

    def send_evaluation(self, evaluation_id: UUID) -> None:
        self._send(EVALUATE, evaluation_id)

    def check(self) -> None:
        """Raises what `send` would, without sending. Writes, because a full Redis or a replica still answers reads."""
        try:
            self._redis.set(_CHECK, "1", ex=60)
        except RedisError as problem:
            raise self._unavailable(problem) from problem

    def length(self, queue: str = DEBATES_QUEUE) -> int:
        try:
            return int(self._redis.llen(queue))
        except RedisError as problem:
            raise QueueUnavailable(str(problem)) from problem

    def _send(self, task: str, about: UUID) -> None:
        try:
            self._celery.send_task(task, args=[str(about)], retry=False)
        except (OperationalError, RedisError, OSError) as problem:
            raise self._unavailable(problem) from problem

    def _unavailable(self, problem: Exception) -> QueueUnavailable:
        if isinstance(problem, ReadOnlyError):
            # After a failover, open connections still lead to the old primary, which is now a replica.
            for pool in (self._celery.producer_pool, self._celery.pool):
                pool.force_close_all(close_pool=False)
            self._redis.connection_pool.disconnect()
        return QueueUnavailable(str(problem))
