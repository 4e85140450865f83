"""Batches concurrent calls into one statement.

Callers of one pass of the event loop form a batch, and so do callers that arrive while as many statements as may run
are in flight. No call waits for a batch to fill.

    event loop                          threads (`parallel` of them)
    ──────────                          ────────────────────────────
    A ──► at the end of this pass ────► [A]            one statement
    B, C, D arrive meanwhile: pending     │
    A is answered ◄───────────────────────┘
          └─► B, C, D ────────────────► [B C D]        one statement
    E arrives meanwhile: pending          │
    B, C, D are answered ◄────────────────┘
          └─► E ──────────────────────► [E]

All of a batcher's state is on the event loop, so it needs no lock.
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
        fails_all: tuple[type[Exception], ...],
    ) -> None:
        """`run` answers each item in its place. If it raises one of `fails_all` (the server is away), every caller of
        the batch gets it. With anything else it must have done nothing, and each item runs again alone, so that a bad
        item fails for its own caller only. Every caller gets an exception of its own."""
        self._run = run
        self._executor = executor
        self._parallel = parallel
        self._largest = largest
        self._fails_all = fails_all
        self._pending: deque[tuple[Item, asyncio.Future[Answer]]] = deque()
        self._running = 0

    async def __call__(self, item: Item) -> Answer:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._pending.append((item, answer))
        if len(self._pending) >= self._largest:
            self._start()
        elif len(self._pending) == 1:
            loop.call_soon(self._start)
        return await answer

    def _start(self) -> None:
        while self._pending and self._running < self._parallel:
            batch = [self._pending.popleft() for _ in range(min(len(self._pending), self._largest))]
            self._running += 1
            loop = asyncio.get_running_loop()
            done = loop.run_in_executor(self._executor, self._answers, [item for item, _ in batch])
            done.add_done_callback(partial(self._finish, [future for _, future in batch]))

    def _finish(
        self, waiting: "list[asyncio.Future[Answer]]", done: "asyncio.Future[Sequence[Answer | BaseException]]"
    ) -> None:
        self._running -= 1
        self._start()
        for future, answer in zip(waiting, done.result(), strict=True):
            # Whoever was cancelled meanwhile no longer waits.
            if future.done():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _answers(self, items: Sequence[Item]) -> Sequence[Answer | BaseException]:
        try:
            return self._run(items)
        except BaseException as problem:
            if len(items) == 1:
                return [problem]
            if isinstance(problem, self._fails_all) or not isinstance(problem, Exception):
                return [_own(problem) for _ in items]
            return [self._answers([item])[0] for item in items]


def _own(problem: BaseException) -> BaseException:
    """A caller adds its own traceback and context to what it is raised: one object must not serve several."""
    mine = copy.copy(problem)
    mine.__cause__ = problem
    return mine
