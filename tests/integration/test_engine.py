"""The connections of one process: served in order, told at once when the server refuses, and whole after a loss."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from claimed_debates import a_debate
from harness import Place, wait_until
from situations.failing import fill_disk, refusing_connections
from sqlalchemy import text

from app.cli.stack import free_port
from app.store.engine import DatabaseUnavailable, Engine
from app.store.errors import words_for
from app.usecases.services import Services
from app.words.errors import BUSY, CANNOT_BE_REACHED

NAME = "engine-tests"
BACKENDS = f"FROM pg_stat_activity WHERE datname = current_database() AND application_name = '{NAME}'"
MakeEngine = Callable[..., Engine]


@pytest.fixture
def make(place: Place) -> Iterator[MakeEngine]:
    made: list[Engine] = []

    def make_engine(size: int = 1, timeout: float = 60, url: str | None = None) -> Engine:
        made.append(Engine(url or str(place.settings.database_url), size, timeout, NAME))
        return made[-1]

    yield make_engine
    for engine in made:
        engine.dispose()


def ask(engine: Engine, way: str) -> int:
    """For the backend that answers, in one of the ways in which connections are used."""
    [[backend]] = run(engine, way, "SELECT pg_backend_pid()")
    return int(backend)


def run(engine: Engine, way: str, sql: str) -> list[Any]:
    """The rows that it returns."""
    context: Any = {"autocommit": engine.autocommit, "begin": engine.begin, "statements": engine.statements}[way]()
    with context as connection:
        found = connection.execute(sql if way == "autocommit" else text(sql))
        returns_rows = found.description if way == "autocommit" else found.returns_rows
        return list(found) if returns_rows else []


WAYS = ["autocommit", "begin", "statements"]


@pytest.mark.parametrize("way", WAYS)
def test_every_aggregate_is_a_number_of_json(make: MakeEngine, way: str) -> None:
    """`sum` and `avg` of a bigint and `extract` are numeric in Postgres; a Decimal would be a text in JSON."""
    sql = (
        "SELECT sum(n), sum(-n), avg(n), sum(n) / 1000.0, sum(n::numeric / 4), extract(epoch FROM interval '90 s'),"
        " max('NaN'::numeric) FROM (VALUES (9007199254740993::bigint), (2)) AS given (n)"
    )
    [row] = run(make(), way, sql)
    assert [type(value) for value in row] == [int, int, float, float, float, float, float]
    assert row[:2] == (9007199254740995, -9007199254740995), "a sum of whole numbers is exact"
    assert (row[5], row[6] != row[6]) == (90.0, True)


# Waiting for a connection.


def waiting(engine: Engine) -> int:
    return engine._pool.get_stats().get("requests_waiting", 0)


def test_those_who_wait_are_served_in_order_and_nobody_passes_them(make: MakeEngine) -> None:
    engine = make(1)
    served: list[str] = []

    def ask_as(name: str, way: str) -> None:
        with engine.autocommit() if way == "autocommit" else engine.begin():
            served.append(name)

    held = engine.connect()
    threads = [threading.Thread(target=ask_as, args=(f"waits {number}", WAYS[number % 2])) for number in range(8)]
    for number, thread in enumerate(threads, 1):
        thread.start()
        wait_until(lambda number=number: waiting(engine) == number, 60, "it waits")
    held.close()
    ask_as("comes late", "begin")
    for thread in threads:
        thread.join(30)
    assert served == [f"waits {number}" for number in range(8)] + ["comes late"]


@pytest.mark.parametrize("way", WAYS)
def test_whoever_waits_too_long_is_told_that_the_database_is_busy_and_the_connection_serves_on(
    make: MakeEngine, way: str
) -> None:
    engine = make(1, timeout=0.1)
    with engine.connect(), pytest.raises(DatabaseUnavailable) as told:
        ask(engine, way)
    assert words_for(told.value) == BUSY
    assert waiting(engine) == 0
    ask(engine, way)


def test_there_are_never_more_connections_than_the_pool_has(make: MakeEngine, place: Place) -> None:
    engine = make(3)
    with ThreadPoolExecutor(12) as pool:
        backends = set(pool.map(lambda number: ask(engine, WAYS[number % 3]), range(300)))
    assert 1 <= len(backends) <= 3
    assert len(place.sql(f"SELECT pid {BACKENDS}")) <= 3


# A server that refuses.


PATIENCE_SECONDS = 100.0


def assert_refused_at_once(engine: Engine, way: str, reason: str) -> None:
    began = time.monotonic()
    with pytest.raises(DatabaseUnavailable) as told:
        ask(engine, way)
    assert reason in str(told.value)
    assert words_for(told.value) == CANNOT_BE_REACHED
    assert time.monotonic() - began < PATIENCE_SECONDS / 2


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_is_not_there_is_told_at_once_and_why(make: MakeEngine, way: str) -> None:
    url = f"postgresql://debate@127.0.0.1:{free_port('127.0.0.1')}/debate"
    engine = make(5, timeout=PATIENCE_SECONDS, url=url)
    for _ in range(3):
        assert_refused_at_once(engine, way, "refused")


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_refuses_after_it_was_there_is_told_at_once_and_found_when_it_is_back(
    make: MakeEngine, place: Place, way: str
) -> None:
    engine = make(5, timeout=PATIENCE_SECONDS)
    ask(engine, way)
    with refusing_connections(place):
        with pytest.raises(DatabaseUnavailable):
            ask(engine, way)
        for _ in range(3):
            assert_refused_at_once(engine, way, "not currently accepting connections")

    def is_back() -> bool:
        try:
            return ask(engine, way) > 0
        except DatabaseUnavailable:
            return False

    wait_until(is_back, 60, "the server is found again")


def test_everybody_who_waits_for_a_server_that_refuses_is_told_at_once(make: MakeEngine, place: Place) -> None:
    engine = make(3, timeout=PATIENCE_SECONDS)
    ask(engine, "begin")
    with refusing_connections(place):
        with pytest.raises(DatabaseUnavailable):
            ask(engine, "begin")
        with ThreadPoolExecutor(10) as pool:
            for told in [
                pool.submit(assert_refused_at_once, engine, WAYS[number % 3], "not currently accepting")
                for number in range(10)
            ]:
                told.result(PATIENCE_SECONDS)


# Connections that are lost.


@pytest.mark.parametrize("way", WAYS)
def test_after_connections_are_lost_there_is_one_failure_and_not_one_for_each(
    make: MakeEngine, place: Place, way: str
) -> None:
    engine = make(5)
    with ExitStack() as all_at_once:
        for _ in range(5):
            all_at_once.enter_context(engine.connect())
    assert len(place.sql(f"SELECT pg_terminate_backend(pid, 5000) {BACKENDS}")) == 5
    with pytest.raises(DatabaseUnavailable):
        ask(engine, way)
    with ExitStack() as all_at_once:
        for _ in range(5):
            connection = all_at_once.enter_context(engine.connect())
            assert connection.execute(text("SELECT 1")).scalar() == 1


# Modes.


def titles(place: Place, title: str) -> int:
    count: int = place.sql("SELECT count(*) FROM debates WHERE title = %s", title)[0][0]
    return count


class Broken(Exception):
    pass


@pytest.mark.parametrize("before", WAYS)
def test_a_transaction_is_one_whatever_the_connection_was_used_for_before(
    make: MakeEngine, services: Services, place: Place, before: str
) -> None:
    a_debate(services)
    engine = make(1)
    backend = ask(engine, before)
    with pytest.raises(Broken), engine.begin() as connection:  # noqa: PT012 (what is raised is the test's own)
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar() == backend
        connection.execute(text("UPDATE debates SET title = 'not to be kept'"))
        assert titles(place, "not to be kept") == 0, "others do not see it yet"
        raise Broken
    assert titles(place, "not to be kept") == 0
    assert ask(engine, before) == backend
    with engine.begin() as connection:
        connection.execute(text("UPDATE debates SET title = 'to be kept'"))
    assert titles(place, "to be kept") == 1


@pytest.mark.parametrize("before", WAYS)
def test_each_statement_is_kept_at_once_in_autocommit_whatever_the_connection_was_used_for_before(
    make: MakeEngine, services: Services, place: Place, before: str
) -> None:
    a_debate(services)
    engine = make(1)
    backend = ask(engine, before)
    with pytest.raises(Broken), engine.autocommit() as connection:  # noqa: PT012 (what is raised is the test's own)
        assert connection.info.backend_pid == backend
        connection.execute("UPDATE debates SET title = 'kept'")
        assert titles(place, "kept") == 1
        raise Broken
    assert titles(place, "kept") == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_statement_that_postgres_refuses_costs_no_connection(make: MakeEngine, way: str) -> None:
    engine = make(1)
    backend = ask(engine, way)
    with pytest.raises(Exception, match="SQLSTATE 22012"):
        run(engine, way, "SELECT 1 / 0")
    assert [ask(engine, other) for other in WAYS] == [backend] * 3


# A full disk.


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_write_tells_whoever_listens_what_went_wrong(
    make: MakeEngine, services: Services, place: Place, way: str
) -> None:
    a_debate(services)
    fill_disk(place)
    engine = make(1)
    heard: list[BaseException] = []
    engine.on_error(heard.append)
    insert = (
        "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)"
        " SELECT gen_random_uuid(), id, 2, 1, 'debater_a', 'CLAIM', 'words', 'scripted' FROM debates"
    )
    with pytest.raises(DatabaseUnavailable):
        run(engine, way, insert)
    assert [type(problem) for problem in heard] == [psycopg.errors.DiskFull]
