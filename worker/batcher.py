"""Batches concurrent calls into one statement.

Callers of one pass of the event loop form a batch, and so do callers that arrive while as many statements as may run
are in flight. A caller's item is built when its batch leaves, after the callers of the batch before have continued. All
state is on the event loop, so it needs no lock.
"""

import asyncio
import copy
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Batcher(Generic[Item, Answer]):
    def __init__(
        self,
        run: Callable[[Sequence[Item]], Sequence[Answer]],
        executor: Executor,
        *,
        parallel: int,
        largest: int,
        fails_all: Callable[[BaseException], bool],
    ) -> None:
        """`run` answers each item in its place. If it raises what `fails_all` accepts (the server is unavailable),
        every caller of the batch gets it. After any other exception, which must have left nothing, each item runs again
        alone: a bad item fails for its own caller only. Every caller gets its own exception."""
        self._run = run
        self._executor = executor
        self._parallel = parallel
        self._largest = largest
        self._fails_all = fails_all
        self._pending: deque[tuple[Callable[[], Item], asyncio.Future[Answer]]] = deque()
        self._running = 0

    async def __call__(self, build: Callable[[], Item]) -> Answer:
        """`build` makes the item, on the event loop; its caller gets what it raises."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._pending.append((build, answer))
        if len(self._pending) >= self._largest:
            self._start()
        elif len(self._pending) == 1:
            loop.call_soon(self._start)
        return await answer

    def _start(self) -> None:
        while self._pending and self._running < self._parallel:
            items, waiting = self._next_batch()
            if not items:
                continue
            self._running += 1
            done = asyncio.get_running_loop().run_in_executor(self._executor, self._answers, items)
            done.add_done_callback(partial(self._finish, waiting))

    def _next_batch(self) -> "tuple[list[Item], list[asyncio.Future[Answer]]]":
        items: list[Item] = []
        waiting: list[asyncio.Future[Answer]] = []
        while self._pending and len(items) < self._largest:
            build, future = self._pending.popleft()
            try:
                items.append(build())
            except Exception as problem:
                if not future.done():
                    future.set_exception(problem)
            else:
                waiting.append(future)
        return items, waiting

    def _finish(
        self, waiting: "list[asyncio.Future[Answer]]", done: "asyncio.Future[Sequence[Answer | BaseException]]"
    ) -> None:
        self._running -= 1
        for future, answer in zip(waiting, done.result(), strict=True):
            # Whoever was cancelled meanwhile no longer waits.
            if future.done():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        # After the callers that were just answered: they have been scheduled before it.
        asyncio.get_running_loop().call_soon(self._start)

    def _answers(self, items: Sequence[Item]) -> Sequence[Answer | BaseException]:
        try:
            return self._run(items)
        except BaseException as problem:
            if len(items) == 1:
                return [problem]
            if self._fails_all(problem) or not isinstance(problem, Exception):
                return [_own(problem) for _ in items]
            return [self._answers([item])[0] for item in items]


def _own(problem: BaseException) -> BaseException:
    """A caller adds its own traceback and context to what it is raised: one object must not serve several."""
    mine = copy.copy(problem)
    mine.__cause__ = problem
    return mine
