"""What is shown of a database error, in logs, tracebacks and `last_error`, has no SQL and none of its values."""

import traceback
from functools import partial
from typing import Any

import psycopg
import pytest
import structlog
from claimed_debates import until
from harness import Place, wait_until
from sqlalchemy import text
from structlog.testing import capture_logs
from worker_loop import PATIENCE_SECONDS, database_away, live_runner, with_settings

from app.bootstrap import build_relay
from app.core.brief import Brief, Thought
from app.core.debate import Debate
from app.core.retry import PlayerError
from app.realtime.credentials import KeyWatch
from app.store.engine import Engine, driver_of
from app.usecases.identity import begin_session, operator_of_session, valid_credentials
from app.usecases.services import Services

WORDS = "the users own words"
FAILING = {
    "23505": "INSERT INTO prompt_sets (name, hash, base, files) SELECT {}, 'h', 'b', '{{}}' FROM generate_series(1, 2)",
    "23502": "INSERT INTO webhooks (id, url, events, secret) VALUES (gen_random_uuid(), {}, '{{}}', NULL)",
    "22P02": "SELECT CAST({} AS uuid)",
    "42601": "SELECT to_tsquery({})",
    "42P01": "SELECT {} FROM no_such_table",
    "42703": "SELECT {} AS a ORDER BY no_such_column",
}


def run_by_sqlalchemy(engine: Engine, sql: str) -> None:
    with engine.begin() as connection:
        connection.execute(text(sql.format(":given", ":given")), {"given": WORDS})


def run_by_psycopg(engine: Engine, sql: str) -> None:
    with engine.autocommit() as connection:
        connection.execute(sql.format("%(given)s::text", "%(given)s::text"), {"given": WORDS})  # type: ignore[arg-type]


def run_by_both(engine: Engine, sql: str) -> None:
    with engine.begin() as connection, driver_of(connection) as driver:
        driver.execute(sql.format("%(given)s::text", "%(given)s::text"), {"given": WORDS})  # type: ignore[arg-type]


@pytest.mark.parametrize("state", FAILING)
def test_a_traceback_has_the_kind_and_the_sqlstate_and_no_sql(services: Services, state: str) -> None:
    sql = FAILING[state]
    for run in (run_by_sqlalchemy, run_by_psycopg, run_by_both):
        with pytest.raises(Exception, match=f"SQLSTATE {state}") as raised:
            run(services.engine, sql)
        shown = "".join(traceback.format_exception(raised.value))
        for hidden in (WORDS, sql[:14], "DETAIL", "LINE 1", "[SQL", "[parameters"):
            assert hidden not in shown, (run, hidden, shown)


def test_an_error_of_psycopg_itself_has_no_value(services: Services) -> None:
    with pytest.raises(psycopg.Error) as raised, services.engine.autocommit() as connection:
        connection.execute("SELECT %s", [WORDS + "\0"])
    assert WORDS not in str(raised.value)


def problems(logs: list[Any], during: str) -> list[str]:
    unavailable = [entry for entry in logs if entry["event"] == "database.unavailable"]
    return [entry["problem"] for entry in unavailable if entry["during"] == during]


def assert_kind_and_state(problem: str) -> None:
    assert problem.startswith("The database is unavailable (")
    assert not any(hidden in problem for hidden in ("[SQL", "SELECT", "[parameters"))


def test_the_relay_logs_no_sql(services: Services, place: Place, debate: Debate, logs: list[Any]) -> None:
    relay = build_relay(services)
    with relay.listen(debate.id), database_away(place):
        relay._look.set()
        wait_until(lambda: bool(problems(logs, "relay.compare")), 20, "it failed")
    relay.end()
    for problem in problems(logs, "relay.compare"):
        assert_kind_and_state(problem)


def test_the_watch_over_credentials_logs_no_hash(services: Services, place: Place, logs: list[Any]) -> None:
    services = with_settings(services, auth_token="t" * 20)
    caller = operator_of_session(services, begin_session(services))
    assert caller is not None
    keys = KeyWatch(partial(valid_credentials, services), most_listeners=100)
    with keys.watch(caller, lambda: None), database_away(place):
        wait_until(lambda: bool(problems(logs, "keys.check")), 20, "it failed")
    for problem in problems(logs, "keys.check"):
        assert_kind_and_state(problem)


class Crashing:
    """A player with a bug in a statement."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def think(self, _: Brief) -> Thought:
        run_by_sqlalchemy(self._engine, FAILING["22P02"])
        raise PlayerError("it does not fail")


async def test_the_last_error_of_a_debate_has_no_sql(services: Services, place: Place, debate: Debate) -> None:
    with capture_logs(processors=[structlog.processors.format_exc_info]) as logs:
        async with live_runner(services, lambda _: Crashing(services.engine)) as runner:
            runner.hint(debate.id)
            failed = "SELECT attempts FROM debates"
            await until(lambda: place.sql(failed)[0][0] > 0, PATIENCE_SECONDS, "an attempt failed")
    lines = [str(entry) for entry in logs]
    [(error,)] = place.sql("SELECT last_error FROM debates")
    assert "SQLSTATE 22P02" in error
    for shown in (error, *lines):
        assert WORDS not in shown
        assert "[SQL" not in shown
    assert any(entry["event"] == "player.crashed" for entry in logs)
