"""Tasks that no worker here understands: refused, and kept in Redis for the operator to see.

They lose no debate: Postgres is the truth, and the sweeper queues what is due again. But a message of unknown shape
says that something newer, or something strange, writes into the queue, and that should not vanish.
"""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from redis import Redis
from redis.exceptions import RedisError

from app.queue import QueueUnavailable

KEY = "debate:refused"
MOST_KEPT = 1000
"""The oldest goes when one more comes."""
LONGEST_KEPT = 64 * 1024
"""A longer message is cut: to be seen it need not be whole, and Redis must not fill up with it."""


@dataclass(frozen=True, slots=True)
class RefusedTask:
    refused_at: str
    reason: str
    queue: str
    worker: str
    message: str
    """As it lay in the queue; bytes that are no UTF-8 are lone surrogates."""
    is_whole: bool = True


class RefusedTasks:
    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    def keep(self, message: bytes, queue: str, reason: str, worker: str) -> None:
        text = message[:LONGEST_KEPT].decode("utf-8", "surrogateescape")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        task = RefusedTask(now, reason, queue, worker, text, is_whole=len(message) <= LONGEST_KEPT)
        with self._redis.pipeline(transaction=True) as steps:
            steps.lpush(KEY, json.dumps(asdict(task)))
            steps.ltrim(KEY, 0, MOST_KEPT - 1)
            steps.execute()

    def count(self) -> int:
        try:
            return int(self._redis.llen(KEY))
        except RedisError as problem:
            raise QueueUnavailable(str(problem)) from problem

    def all(self) -> list[RefusedTask]:
        """The newest first."""
        return [task for _, task in self._entries()]

    def requeue(self) -> int:
        """Puts back what is whole, the oldest first; says how many. A worker that still does not understand one
        refuses it again."""
        back = 0
        try:
            for entry, task in reversed(self._entries()):
                if not task.is_whole:
                    continue
                with self._redis.pipeline(transaction=True) as steps:
                    steps.lpush(task.queue, task.message.encode("utf-8", "surrogateescape"))
                    steps.lrem(KEY, -1, entry)  # type: ignore[arg-type]
                    steps.execute()
                back += 1
        except RedisError as problem:
            raise QueueUnavailable(str(problem)) from problem
        return back

    def forget(self) -> int:
        """Throws them all away; says how many there were."""
        try:
            with self._redis.pipeline(transaction=True) as steps:
                steps.llen(KEY)
                steps.delete(KEY)
                return int(steps.execute()[0])
        except RedisError as problem:
            raise QueueUnavailable(str(problem)) from problem

    def _entries(self) -> list[tuple[bytes | str, RefusedTask]]:
        try:
            return [(entry, RefusedTask(**json.loads(entry))) for entry in self._redis.lrange(KEY, 0, -1)]
        except RedisError as problem:
            raise QueueUnavailable(str(problem)) from problem
