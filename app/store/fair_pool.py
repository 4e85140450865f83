"""A pool of connections that serves those who wait in the order in which they came.

SQLAlchemy's own lets whoever comes at the right moment pass those who wait. With fifty requests in one process some
were passed again and again, and took three times as long as the others.
"""

import queue
import threading
from collections import deque
from typing import Any

from sqlalchemy.pool import QueuePool
from sqlalchemy.util.queue import Empty, Full, QueueCommon


class _InOrder(QueueCommon[Any]):
    def __init__(self, maxsize: int = 0, use_lifo: bool = False) -> None:
        self.maxsize, self.use_lifo = maxsize, use_lifo
        self._free: list[Any] = []
        self._waiting: deque[queue.SimpleQueue[Any]] = deque()
        # Reentrant: a connection that nobody holds any more may come back in the middle of anything.
        self._lock = threading.RLock()

    def qsize(self) -> int:
        return len(self._free)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:  # noqa: ARG002 (never waits)
        with self._lock:
            if self._waiting:
                self._waiting.popleft().put(item)
            elif len(self._free) < self.maxsize:
                self._free.append(item)
            else:
                raise Full

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        mine: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            if self._free:
                # The one that was used last, so that those that nobody needs stay idle.
                return self._free.pop()
            if not block:
                raise Empty
            self._waiting.append(mine)
        try:
            return mine.get(timeout=timeout)
        except BaseException as problem:
            self._leave(mine)
            raise (Empty() if isinstance(problem, queue.Empty) else problem) from None

    def _leave(self, mine: queue.SimpleQueue[Any]) -> None:
        """What came at the last moment goes to the next one."""
        with self._lock:
            if mine in self._waiting:
                self._waiting.remove(mine)
            else:
                self.put(mine.get_nowait())


class FairPool(QueuePool):
    _queue_class = _InOrder
