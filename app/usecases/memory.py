"""Values that a process keeps in memory for all its threads, those used last."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memory(Generic[Key, Value]):
    def __init__(self, most: int, size: Callable[[Value], int] = lambda _: 1) -> None:
        """Of all values together, but for one that is larger by itself. Readers must not change a value."""
        self._most = most
        self._size = size
        self._kept: OrderedDict[Key, Value] = OrderedDict()
        self._sum = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: Key, value: Value) -> None:
        with self._lock:
            if key in self._kept:
                self._sum -= self._size(self._kept.pop(key))
            self._kept[key] = value
            self._sum += self._size(value)
            while self._sum > self._most and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._sum -= self._size(dropped)
