"""Batches of concurrent calls: who waits for whom, and whose trouble is whose."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from worker.batcher import Batcher


class Away(Exception):
    pass


class Statements:
    """Answers a number with its double. The first so many statements wait until the gate is opened."""

    def __init__(
        self, refuses: Callable[[Sequence[int]], BaseException | None] = lambda _: None, gated: int = 1
    ) -> None:
        self.gate = threading.Event()
        self.ran: list[list[int]] = []
        self._refuses = refuses
        self._gated = gated
        self._lock = threading.Lock()

    def __call__(self, items: Sequence[int]) -> list[int]:
        with self._lock:
            self.ran.append(list(items))
            waits = len(self.ran) <= self._gated
        if waits:
            assert self.gate.wait(60)
        if problem := self._refuses(items):
            raise problem
        return [2 * number for number in items]


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


async def ran(statements: Statements, count: int) -> None:
    async with asyncio.timeout(60):
        while len(statements.ran) < count:
            await asyncio.sleep(0.001)


def as_item(number: int) -> Callable[[], int]:
    return lambda: number


def is_away(problem: BaseException) -> bool:
    return isinstance(problem, Away)


def batcher_of(
    statements: Callable[[Sequence[int]], Sequence[int]],
    executor: ThreadPoolExecutor,
    parallel: int = 1,
    largest: int = 100,
) -> Batcher[int, int]:
    return Batcher(statements, executor, parallel=parallel, largest=largest, fails_all=is_away)


async def call_all(batcher: Batcher[int, int], statements: Statements, count: int) -> list["asyncio.Task[int]"]:
    """0 runs at once; the others come while it does, in order. All are done, one way or the other."""
    calls = [asyncio.create_task(batcher(as_item(0)))]
    await ran(statements, 1)
    calls += [asyncio.create_task(batcher(as_item(number))) for number in range(1, count)]
    await asyncio.sleep(0)
    assert not any(call.done() for call in calls)
    statements.gate.set()
    await asyncio.wait(calls, timeout=60)
    return calls


async def test_the_first_runs_at_once_and_those_that_come_meanwhile_are_one_batch(
    executor: ThreadPoolExecutor,
) -> None:
    statements = Statements()
    batcher = batcher_of(statements, executor)
    calls = await call_all(batcher, statements, 5)
    assert [call.result() for call in calls] == [0, 2, 4, 6, 8]
    assert statements.ran == [[0], [1, 2, 3, 4]]
    assert await batcher(as_item(50)) == 100, "whoever comes later is not held up"
    assert statements.ran[2:] == [[50]]


async def test_no_batch_is_larger_than_it_may_be_and_the_order_is_kept(executor: ThreadPoolExecutor) -> None:
    statements = Statements()
    calls = await call_all(batcher_of(statements, executor, largest=2), statements, 6)
    assert [call.result() for call in calls] == [0, 2, 4, 6, 8, 10]
    assert statements.ran == [[0], [1, 2], [3, 4], [5]]


async def test_calls_of_one_pass_of_the_loop_are_one_batch(executor: ThreadPoolExecutor) -> None:
    statements = Statements(gated=0)
    batcher = batcher_of(statements, executor, parallel=2)
    assert await asyncio.gather(*(batcher(as_item(number)) for number in range(10))) == [
        2 * number for number in range(10)
    ]
    assert statements.ran == [list(range(10))]


async def test_as_many_statements_run_beside_each_other_as_may_and_no_more(executor: ThreadPoolExecutor) -> None:
    statements = Statements(gated=3)
    batcher = batcher_of(statements, executor, parallel=3)
    calls = []
    for number in range(3):
        calls.append(asyncio.create_task(batcher(as_item(number))))
        await ran(statements, number + 1)
    calls += [asyncio.create_task(batcher(as_item(number))) for number in range(3, 6)]
    await asyncio.sleep(0.05)
    assert statements.ran == [[0], [1], [2]], "the others wait, though there are threads to spare"
    statements.gate.set()
    await asyncio.wait(calls, timeout=60)
    assert [call.result() for call in calls] == [0, 2, 4, 6, 8, 10]
    assert statements.ran[3:] == [[3, 4, 5]]


async def test_items_are_built_when_their_batch_leaves_and_after_those_that_were_answered_have_gone_on(
    executor: ThreadPoolExecutor,
) -> None:
    statements = Statements()
    batcher = batcher_of(statements, executor, largest=2)
    happened: list[str] = []

    def build(number: int) -> int:
        happened.append(f"{number} is built")
        return number

    async def call(number: int) -> None:
        await batcher(lambda: build(number))
        happened.append(f"{number} goes on")

    calls = [asyncio.create_task(call(0))]
    await ran(statements, 1)
    calls += [asyncio.create_task(call(number)) for number in range(1, 5)]
    await asyncio.sleep(0)
    assert happened == ["0 is built"], "four come in a burst, and wait for the statement that runs"
    statements.gate.set()
    await asyncio.wait(calls, timeout=60)
    assert happened[1:4] == ["0 goes on", "1 is built", "2 is built"]
    assert happened[4:] == ["1 goes on", "2 goes on", "3 is built", "4 is built", "3 goes on", "4 goes on"]


async def test_an_item_that_cannot_be_built_fails_for_its_own_caller_only(executor: ThreadPoolExecutor) -> None:
    def refuse() -> int:
        raise ValueError("nothing to store")

    statements = Statements(gated=0)
    batcher = batcher_of(statements, executor)
    with pytest.raises(ValueError, match="nothing to store"):
        await batcher(refuse)
    assert statements.ran == [], "a batch of nothing is no statement"
    calls = [asyncio.create_task(batcher(build)) for build in (as_item(1), refuse, as_item(3))]
    await asyncio.wait(calls, timeout=60)
    assert [calls[0].result(), calls[2].result()] == [2, 6]
    assert isinstance(calls[1].exception(), ValueError)
    assert statements.ran == [[1, 3]]


async def test_a_bad_item_fails_for_its_own_caller_only(executor: ThreadPoolExecutor) -> None:
    statements = Statements(lambda items: ValueError("three") if 3 in items else None)
    batcher = batcher_of(statements, executor)
    calls = await call_all(batcher, statements, 5)
    assert [call.result() for call in calls if call is not calls[3]] == [0, 2, 4, 8]
    with pytest.raises(ValueError, match="three"):
        calls[3].result()
    assert statements.ran == [[0], [1, 2, 3, 4], [1], [2], [3], [4]]
    assert await batcher(as_item(50)) == 100


@pytest.mark.parametrize("problem", [Away("gone"), SystemExit(3)], ids=["what fails all", "what is no error"])
async def test_what_fails_all_is_not_run_again_and_each_caller_gets_its_own_exception(
    executor: ThreadPoolExecutor, problem: BaseException
) -> None:
    async def failure(batcher: Batcher[int, int], item: int) -> BaseException | None:
        """Caught in the task: SystemExit would end the event loop."""
        try:
            await batcher(as_item(item))
        except BaseException as raised:
            return raised
        return None

    statements = Statements(lambda items: problem if 1 in items else None)
    batcher = batcher_of(statements, executor)
    first = asyncio.create_task(batcher(as_item(0)))
    await ran(statements, 1)
    others = [asyncio.create_task(failure(batcher, number)) for number in (1, 2, 3)]
    await asyncio.sleep(0)
    statements.gate.set()
    raised = await asyncio.gather(*others)
    assert await first == 0
    assert statements.ran == [[0], [1, 2, 3]]
    assert [type(one) for one in raised] == [type(problem)] * 3
    assert [one and one.args for one in raised] == [problem.args] * 3
    assert len({id(one) for one in raised}) == 3, "a traceback that one adds is not the others'"
    assert all(one is problem or (one and one.__cause__ is problem) for one in raised)
    assert await batcher(as_item(50)) == 100, "nobody is left waiting"


async def test_a_caller_that_is_cancelled_as_it_waits_spoils_no_neighbours_answer(
    executor: ThreadPoolExecutor,
) -> None:
    statements = Statements()
    batcher = batcher_of(statements, executor)
    first = asyncio.create_task(batcher(as_item(0)))
    await ran(statements, 1)
    calls = [asyncio.create_task(batcher(as_item(number))) for number in (1, 2, 3)]
    await asyncio.sleep(0)
    first.cancel()
    calls[1].cancel()
    await asyncio.wait([first, calls[1]], timeout=60)
    statements.gate.set()
    assert [await calls[0], await calls[2]] == [2, 6]
    assert first.cancelled()
    assert calls[1].cancelled()
    assert await batcher(as_item(50)) == 100


async def test_a_crowd_gets_each_its_own_answer(executor: ThreadPoolExecutor) -> None:
    sizes: list[int] = []

    def double(items: Sequence[int]) -> list[int]:
        sizes.append(len(items))
        return [2 * number for number in items]

    batcher = batcher_of(double, executor, parallel=2, largest=8)
    assert await asyncio.gather(*(batcher(as_item(number)) for number in range(5000))) == [
        2 * number for number in range(5000)
    ]
    assert sum(sizes) == 5000
    assert max(sizes) <= 8
