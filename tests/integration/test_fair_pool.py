"""Connections of the pool: in the order in which they are asked for, and none is lost when somebody stops waiting."""

import queue
import threading
from collections.abc import Iterator
from functools import partial

import pytest
from sqlalchemy import text
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.util.queue import Empty, Full

from app.store.engine import Engine, make_engine
from app.store.fair_pool import _InOrder
from tests.harness import Place, wait_until


@pytest.fixture
def one_connection(place: Place) -> Iterator[Engine]:
    engine = make_engine(str(place.settings.database_url), 1, 20, "tests", in_order=True)
    yield engine
    engine.dispose()


def are_waiting(engine: Engine, count: int) -> bool:
    return len(engine.pool._pool._waiting) == count  # type: ignore[attr-defined]


def test_those_who_wait_are_served_in_order_and_nobody_passes_them(one_connection: Engine) -> None:
    served: list[str] = []

    def ask(name: str) -> None:
        with one_connection.connect() as connection:
            served.append(name)
            connection.execute(text("SELECT 1"))

    held = one_connection.connect()
    threads = [threading.Thread(target=ask, args=(f"waits {number}",)) for number in range(8)]
    for number, thread in enumerate(threads, 1):
        thread.start()
        wait_until(partial(are_waiting, one_connection, number), 20, "it waits")
    held.close()
    # With SQLAlchemy's own pool this one would have it before those that are only about to wake up.
    ask("comes late")
    for thread in threads:
        thread.join(20)
    assert served == [f"waits {number}" for number in range(8)] + ["comes late"]


def test_whoever_waits_too_long_is_told_and_the_connection_serves_on(place: Place) -> None:
    engine = make_engine(str(place.settings.database_url), 1, 0.05, "tests", in_order=True)
    with engine.connect(), pytest.raises(PoolTimeout):
        engine.connect()
    assert are_waiting(engine, 0)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar() == 1
    engine.dispose()


def test_what_comes_when_somebody_stops_waiting_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    free = _InOrder(maxsize=1)

    class TooLate(queue.SimpleQueue[str]):
        def get(self, block: bool = True, timeout: float | None = None) -> str:
            if timeout is None:
                return super().get(block)
            free.put("one")
            raise queue.Empty

    monkeypatch.setattr("app.store.fair_pool.queue.SimpleQueue", TooLate)
    with pytest.raises(Empty):
        free.get(timeout=1)
    assert free.qsize() == 1
    assert free.get() == "one"


def test_no_more_is_kept_than_there_is_room_for() -> None:
    free = _InOrder(maxsize=1)
    free.put("one")
    with pytest.raises(Full):
        free.put("one too many")
    assert free.qsize() == 1
