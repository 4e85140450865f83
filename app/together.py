"""What several threads ask of the database at the same moment is asked in one go.

Whoever comes while nothing is asked asks at once, for itself alone: nobody waits for company. Whoever comes meanwhile
waits, and the first of them then asks for all. So the more there is to do, the less each costs.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class _Waiting(Generic[Asked, Answer]):
    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.answer: Answer | BaseException | None = None
        self.is_answered = False
        # A bare lock, taken until somebody wakes us: of all that can be waited for it costs the least.
        self._sleep = threading.Lock()
        self._sleep.acquire()

    def wait(self) -> None:
        self._sleep.acquire()

    def wake(self) -> None:
        self._sleep.release()


class Together(Generic[Asked, Answer]):
    def __init__(
        self, ask: Callable[[Sequence[Asked]], Sequence[Answer]], at_most: int, fails_all: tuple[type[Exception], ...]
    ) -> None:
        """`ask` answers each in its place. What it raises of `fails_all` is raised for all; with anything else it must
        have done nothing, and each is asked alone, so that one bad question is its asker's trouble only."""
        self._ask = ask
        self._at_most = at_most
        self._fails_all = fails_all
        self._lock = threading.Lock()
        self._waiting: deque[_Waiting[Asked, Answer]] = deque()
        self._is_asking = False

    def __call__(self, asked: Asked) -> Answer:
        mine: _Waiting[Asked, Answer] = _Waiting(asked)
        with self._lock:
            self._waiting.append(mine)
            must_wait, self._is_asking = self._is_asking, True
        if must_wait:
            mine.wait()
        if not mine.is_answered:
            # Only who asks takes from the queue, and then wakes its first: so we are in it, and first.
            self._ask_for_all(mine)
        if isinstance(mine.answer, BaseException):
            raise mine.answer
        return mine.answer  # type: ignore[return-value]

    def _ask_for_all(self, mine: _Waiting[Asked, Answer]) -> None:
        with self._lock:
            count = min(len(self._waiting), self._at_most)
            asking = [self._waiting.popleft() for _ in range(count)]
        answers = self._answers([one.asked for one in asking])
        with self._lock:
            following = self._waiting[0] if self._waiting else None
            self._is_asking = following is not None
        if following:
            following.wake()
        for one, answer in zip(asking, answers, strict=True):
            one.answer, one.is_answered = answer, True
            if one is not mine:
                one.wake()

    def _answers(self, asked: Sequence[Asked]) -> Sequence[Answer | BaseException]:
        try:
            return self._ask(asked)
        except BaseException as problem:
            if len(asked) == 1 or isinstance(problem, self._fails_all) or not isinstance(problem, Exception):
                return [problem] * len(asked)
            return [self._answers([one])[0] for one in asked]
