"""The task queue: Celery on Redis. Tasks are sent by name, so nothing here knows the worker's code."""

from uuid import UUID

from celery import Celery
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

from app import broker

ADVANCE_DEBATE = "advance_debate"
DEBATES_QUEUE = "debates"
EVALUATE = "evaluate_contribution"
GUARDRAIL_QUEUE = "guardrail"
QUEUES = (DEBATES_QUEUE, GUARDRAIL_QUEUE)
"""Every worker takes from both, by turns: a flood of one does not hold up the other."""
VISIBILITY_TIMEOUT_SECONDS = 3600
"""Redis hands a task out again when it was not acknowledged for this long. Longer than any slice of a worker."""


class QueueUnavailable(Exception):
    """The broker did not take or give an answer."""


def make_celery(redis_url: str) -> Celery:
    broker.use()
    celery = Celery("debate-runner")
    celery.conf.update(
        broker_url=_broker_url(redis_url),
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
        broker_transport_options={
            "visibility_timeout": VISIBILITY_TIMEOUT_SECONDS,
            "socket_connect_timeout": 3,
            "socket_timeout": 10,
            "socket_keepalive": True,
            "health_check_interval": 10,
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
            raise QueueUnavailable(str(problem)) from problem
