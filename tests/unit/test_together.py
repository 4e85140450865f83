"""Questions that are asked together: who asks, for whom, and whose trouble is whose."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from harness import wait_until

from app.together import Together


class Away(Exception):
    pass


class Gated:
    """Answers a number with its double; the first question waits until the gate is opened."""

    def __init__(self, refuses: Callable[[Sequence[int]], BaseException | None] = lambda _: None) -> None:
        self.gate = threading.Event()
        self.asked: list[list[int]] = []
        self._refuses = refuses

    def __call__(self, asked: Sequence[int]) -> list[int]:
        self.asked.append(list(asked))
        if len(self.asked) == 1:
            assert self.gate.wait(10)
        if problem := self._refuses(asked):
            raise problem
        return [2 * number for number in asked]


def ask_all(gated: Gated, count: int, at_most: int = 100) -> list[Future[int]]:
    """0 asks at once; the others come while it does."""
    together: Together[int, int] = Together(gated, at_most, (Away,))
    with ThreadPoolExecutor(count) as pool:
        asking = [pool.submit(together, 0)]
        wait_until(lambda: len(gated.asked) == 1, 10, "the first asks")
        for number in range(1, count):
            asking.append(pool.submit(together, number))
            wait_until(lambda waiting=number: len(together._waiting) == waiting, 10, "the next one waits")
        gated.gate.set()
    assert together(50) == 100, "whoever comes later is not held up"
    return asking


def test_who_comes_first_asks_alone_and_who_comes_meanwhile_asks_together() -> None:
    gated = Gated()
    assert [asking.result() for asking in ask_all(gated, 5)] == [0, 2, 4, 6, 8]
    assert gated.asked == [[0], [1, 2, 3, 4], [50]]


def test_no_more_than_so_many_at_once() -> None:
    gated = Gated()
    assert [asking.result() for asking in ask_all(gated, 6, at_most=2)] == [0, 2, 4, 6, 8, 10]
    assert gated.asked == [[0], [1, 2], [3, 4], [5], [50]]


def test_a_bad_question_is_its_askers_trouble_only() -> None:
    gated = Gated(lambda asked: ValueError("three") if 3 in asked else None)
    asking = ask_all(gated, 5)
    assert [one.result() for one in asking if one is not asking[3]] == [0, 2, 4, 8]
    with pytest.raises(ValueError, match="three"):
        asking[3].result()
    assert gated.asked == [[0], [1, 2, 3, 4], [1], [2], [3], [4], [50]]


@pytest.mark.parametrize("problem", [Away(), KeyboardInterrupt()], ids=["what fails all", "what is no error"])
def test_what_fails_all_is_not_asked_again_and_leaves_nobody_waiting(problem: BaseException) -> None:
    gated = Gated(lambda asked: problem if 1 in asked else None)
    asking = ask_all(gated, 4)
    assert asking[0].result() == 0
    assert [one.exception() for one in asking[1:]] == [problem] * 3
    assert gated.asked == [[0], [1, 2, 3], [50]]


def test_a_crowd_gets_each_its_own_answer() -> None:
    sizes: list[int] = []

    def double(asked: Sequence[int]) -> list[int]:
        sizes.append(len(asked))
        return [2 * number for number in asked]

    together: Together[int, int] = Together(double, 8, (Away,))
    with ThreadPoolExecutor(30) as pool:
        assert list(pool.map(together, range(5000))) == [2 * number for number in range(5000)]
    assert sum(sizes) == 5000
    assert max(sizes) <= 8
