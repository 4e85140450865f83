"""When a task lets another debate have its thread, and how seldom it asks."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.queue import QueueUnavailable
from worker import fairness
from worker.fairness import ASK_EVERY_SECONDS, LONGEST_SECONDS, SLICE_SECONDS, Fairness

STARTED = 1000.0


class Clock:
    def __init__(self) -> None:
        self.now = STARTED

    def monotonic(self) -> float:
        return self.now


class Queue:
    """How many wait, and how often it was asked."""

    def __init__(self, length: int = 0) -> None:
        self.length: int | Exception = length
        self.asked = 0

    def __call__(self) -> int:
        self.asked += 1
        if isinstance(self.length, Exception):
            raise self.length
        return self.length


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(fairness, "time", made)
    return made


def test_within_its_slice_a_task_goes_on_and_asks_nobody(clock: Clock) -> None:
    queue = Queue(length=100)
    fair = Fairness(queue)
    for worked in (0, SLICE_SECONDS / 2, SLICE_SECONDS - 0.001):
        clock.now = STARTED + worked
        assert fair.may_go_on(STARTED)
    assert queue.asked == 0


@pytest.mark.parametrize(("waiting", "goes_on"), [(0, True), (1, False), (500, False)])
def test_after_its_slice_it_goes_on_only_if_nobody_waits(clock: Clock, waiting: int, goes_on: bool) -> None:
    fair = Fairness(Queue(waiting))
    clock.now = STARTED + SLICE_SECONDS
    assert fair.may_go_on(STARTED) is goes_on


def test_each_task_has_a_slice_of_its_own(clock: Clock) -> None:
    fair = Fairness(Queue(1))
    clock.now = STARTED + SLICE_SECONDS
    assert not fair.may_go_on(STARTED)
    assert fair.may_go_on(clock.now), "a task that began just now"


def test_an_answer_holds_for_a_while_and_is_then_asked_anew(clock: Clock) -> None:
    queue = Queue(0)
    fair = Fairness(queue)
    clock.now = STARTED + SLICE_SECONDS
    assert fair.may_go_on(STARTED)
    queue.length = 1
    clock.now += ASK_EVERY_SECONDS * 0.9
    assert fair.may_go_on(STARTED), "as it was a moment ago"
    assert queue.asked == 1
    clock.now += ASK_EVERY_SECONDS * 0.2
    assert not fair.may_go_on(STARTED)
    queue.length = 0
    assert not fair.may_go_on(STARTED)
    assert queue.asked == 2
    clock.now += ASK_EVERY_SECONDS
    assert fair.may_go_on(STARTED)
    assert queue.asked == 3


def test_many_turns_a_second_ask_a_few_times_a_second(clock: Clock) -> None:
    queue = Queue(0)
    fair = Fairness(queue)
    clock.now = STARTED + SLICE_SECONDS
    for _ in range(10_000):
        assert fair.may_go_on(STARTED)
        clock.now += 0.001
    assert queue.asked <= 10 / ASK_EVERY_SECONDS + 1


def test_however_many_threads_ask_redis_is_asked_once(clock: Clock) -> None:
    queue = Queue(1)
    fair = Fairness(queue)
    threads = 50
    for round_number in range(1, 11):
        clock.now = STARTED + SLICE_SECONDS + round_number
        barrier = threading.Barrier(threads)

        def ask(_: int, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(10)
            fair.may_go_on(STARTED)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(ask, range(threads)))
        assert queue.asked == round_number
        assert not fair.may_go_on(STARTED)


def test_a_slow_answer_holds_up_only_the_thread_that_asked(clock: Clock) -> None:
    asked, answer = threading.Event(), threading.Event()

    def slow() -> int:
        asked.set()
        assert answer.wait(10)
        return 1

    fair = Fairness(slow)
    clock.now = STARTED + SLICE_SECONDS
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(fair.may_go_on, STARTED)
        assert asked.wait(10)
        assert fair.may_go_on(STARTED), "goes by what was known before"
        answer.set()
        assert asking.result(10) is False
    assert not fair.may_go_on(STARTED)


def test_a_queue_that_cannot_be_asked_holds_nobody_up(clock: Clock) -> None:
    queue = Queue()
    queue.length = QueueUnavailable("away")
    fair = Fairness(queue)
    clock.now = STARTED + SLICE_SECONDS
    for _ in range(100):
        assert fair.may_go_on(STARTED)
    assert queue.asked == 1, "nor is it asked again at once"
    queue.length = 1
    clock.now += ASK_EVERY_SECONDS
    assert not fair.may_go_on(STARTED)


def test_what_was_known_of_others_is_forgotten_when_the_queue_goes_away(clock: Clock) -> None:
    queue = Queue(1)
    fair = Fairness(queue)
    clock.now = STARTED + SLICE_SECONDS
    assert not fair.may_go_on(STARTED)
    queue.length = QueueUnavailable("away")
    clock.now += ASK_EVERY_SECONDS
    assert fair.may_go_on(STARTED)


@pytest.mark.parametrize("length", [0, QueueUnavailable("away")], ids=["nobody waits", "the queue is away"])
def test_no_task_goes_on_for_ever(clock: Clock, length: int | Exception) -> None:
    queue = Queue()
    queue.length = length
    fair = Fairness(queue)
    clock.now = STARTED + LONGEST_SECONDS - 0.001
    assert fair.may_go_on(STARTED)
    clock.now = STARTED + LONGEST_SECONDS
    assert not fair.may_go_on(STARTED)
    assert queue.asked == 1
