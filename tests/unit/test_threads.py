"""A thread of a process never dies unseen: it is started again, counted, and `/ready` knows of one that is down."""

import threading
from collections.abc import Callable, Iterator

import pytest
from harness import REPOSITORY, wait_until

from app.observe import metrics, threads
from app.observe.threads import SupervisedThread


class Broken(Exception):
    pass


class Target:
    """Crashes as often as it is told to, then runs until it is told to end."""

    def __init__(self, crashes: int, problem: type[BaseException] = Broken) -> None:
        self._crashes = crashes
        self._problem = problem
        self.runs = 0
        self.ending = threading.Event()

    def __call__(self) -> None:
        self.runs += 1
        if self.runs <= self._crashes:
            raise self._problem
        self.ending.wait()


Start = Callable[[str, Target], SupervisedThread]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setattr(threads, "LONGEST_PAUSE_SECONDS", 0.01)
    started: list[tuple[SupervisedThread, Target]] = []

    def start(name: str, target: Target) -> SupervisedThread:
        thread = SupervisedThread(name, target, target.ending)
        started.append((thread, target))
        thread.start()
        return thread

    yield start
    for thread, target in started:
        target.ending.set()
        thread.join(10)
    assert threads.down() == [], "what ends on purpose is not down"


def restarts(name: str) -> float:
    return metrics.REGISTRY.get_sample_value("debate_thread_restarts_total", {"thread": name}) or 0


def test_a_thread_that_crashed_is_started_again_and_counted(start: Start) -> None:
    target = Target(crashes=2)
    start("crashed-twice", target)
    wait_until(lambda: target.runs == 3, 60, "it runs again")
    assert restarts("crashed-twice") == 2
    assert threads.down() == [], "two crashes in a row are not the end"


def test_a_thread_that_keeps_crashing_is_down_until_it_runs_steadily(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Target(crashes=5)
    start("unsteady", target)
    wait_until(lambda: target.runs == 6, 60, "it runs again")
    assert threads.down() == ["unsteady"]
    monkeypatch.setattr(threads, "STEADY_SECONDS", 0.0)
    assert threads.down() == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_is_gone_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_started", set())
    SupervisedThread("gone", Target(crashes=1, problem=KeyboardInterrupt)).start()
    wait_until(lambda: threads.down() == ["gone"], 60, "nothing restarts what was ended from outside")


def test_a_pause_after_a_crash_ends_with_the_process() -> None:
    target = Target(crashes=1)
    thread = SupervisedThread("ended", target, target.ending)
    thread.start()
    target.ending.set()
    thread.join(20)
    assert threads.down() == []


def test_no_other_thread_of_the_api_lives_as_long_as_its_process() -> None:
    """`threading.Thread` stands only where a thread belongs to a connection, in the helper itself, and in two
    commands: the one that supervises programs, where it ends everything with words when it fails, and the one that
    receives webhooks."""
    allowed = {"app/observe/threads.py", "app/realtime/connection.py", "app/cli/children.py", "app/cli/receiver.py"}
    found = {
        path.relative_to(REPOSITORY).as_posix()
        for path in (REPOSITORY / "app").rglob("*.py")
        if "threading.Thread(" in path.read_text()
    }
    assert found == allowed
