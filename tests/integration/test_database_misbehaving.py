"""Postgres in trouble, for real: a conflict is repeated, a lost answer looked up, and what cannot be done is said."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from byte_proxy import ByteProxy, byte_proxy
from claimed_debates import CLAIM, a_debate, assert_sound, claimed, commit_turn, is_closed, turn, until
from harness import Api, Place, lock_waits, new_debate, services_of, wait_until
from psycopg.conninfo import conninfo_to_dict
from situations.failing import fill_disk, read_only
from test_api_envelope import data_of, refusal_of
from watchers import EXTERNAL, a_dialogue
from worker_loop import PATIENCE_SECONDS, live_runner, with_settings

from app.bootstrap import build_relay
from app.core.access import OPERATOR
from app.core.brief import Brief, Thought
from app.core.debate import Debate
from app.store.engine import DatabaseUnavailable
from app.store.errors import words_for
from app.usecases import advance, control
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from app.usecases.system import readiness
from app.web.application import make_application
from app.words.errors import BUSY, DISK_IS_FULL, ONLY_READS
from worker import claim_loop
from worker.players.scripted.player import ScriptedPlayer

LOSE_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE starts_with(application_name, 'debate-api:') AND datname = current_database()"
)


def stop(services: Services, debate: Debate) -> Callable[[], Any]:
    return lambda: control.stop_debate(services, OPERATOR, debate.id, None)


def store_a_turn(services: Services, debate: Debate) -> Callable[[], Any]:
    claim = claimed(services, debate)
    return lambda: commit_turn(services, claim, CLAIM)


@pytest.mark.parametrize(
    ("write", "what_it_needs"),
    [
        (stop, "LOCK TABLE turns IN ACCESS EXCLUSIVE MODE"),
        (store_a_turn, "SELECT pg_advisory_xact_lock(1)"),
    ],
    ids=["stop", "store a turn"],
)
def test_a_write_that_postgres_undid_in_a_deadlock_is_done_again(
    services: Services, place: Place, write: Callable[..., Callable[[], Any]], what_it_needs: str
) -> None:
    debate = a_debate(services)
    work = write(services, debate)
    place.sql(
        "CREATE FUNCTION wait_a_while() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN new; END'"
    )
    place.sql("CREATE TRIGGER wait_a_while BEFORE INSERT ON turns FOR EACH ROW EXECUTE FUNCTION wait_a_while()")
    with psycopg.connect(str(place.settings.database_url)) as other, ThreadPoolExecutor(1) as pool:
        # The other one has patience, so it is always ours that is undone.
        other.execute("SET deadlock_timeout = '1min'")
        other.execute(what_it_needs)
        done = pool.submit(work)
        wait_until(lambda: lock_waits(place) == 1, 60, "ours has the debate and waits for the other")
        other.execute("UPDATE debates SET title = 'The other was here'")
        other.commit()
        done.result(20)
    after, turns = assert_sound(services, debate)
    assert after.title == "The other was here"
    assert (str(after.status), len(turns)) == (("stopped", 1) if write is stop else ("running", 2))
    services.engine.dispose()
    counted = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    wait_until(lambda: place.sql(counted) == [(1,)], 60, "Postgres has counted one")


@pytest.fixture
def repeatable_reads(place: Place) -> None:
    """For every connection from now on."""
    database = conninfo_to_dict(str(place.settings.database_url))["dbname"]
    place.sql(f"ALTER DATABASE {database} SET default_transaction_isolation = 'repeatable read'")


@pytest.mark.usefixtures("repeatable_reads")
def test_a_write_that_could_not_be_serialized_is_done_again(place: Place, services: Services) -> None:
    debate = a_debate(services)
    with services.engine.connect() as connection:
        assert connection.get_isolation_level() == "REPEATABLE READ"
    with psycopg.connect(str(place.settings.database_url)) as other, ThreadPoolExecutor(1) as pool:
        other.execute("UPDATE debates SET title = 'The other was here'")
        done = pool.submit(stop(services, debate))
        wait_until(lambda: lock_waits(place) == 1, 60, "ours waits for the debate")
        other.commit()
        assert done.result(20).title == "The other was here"
    assert str(assert_sound(services, debate)[0].status) == "stopped"


@pytest.fixture
def between(place: Place) -> Iterator[tuple[Services, ByteProxy]]:
    """Services that speak to Postgres through a proxy."""
    given = conninfo_to_dict(str(place.settings.database_url))
    with byte_proxy(Path(str(given["host"])) / ".s.PGSQL.5432") as proxy:
        url = f"postgresql://{given['user']}@127.0.0.1:{proxy.port}/{given['dbname']}"
        with services_of(place.settings.with_changes(database_url=url)) as built:
            yield built, proxy


def test_a_creation_whose_answer_was_lost_is_found_when_it_is_repeated(between: tuple[Services, ByteProxy]) -> None:
    services, proxy = between
    new = NewDebate("Cars", "general_debate", "Ban cars", "the same request")
    # Only what runs the statement has the request in it: it is prepared before.
    proxy.lose_answer_to = b"the same request"
    with pytest.raises(DatabaseUnavailable):
        create_debate(services, OPERATOR, new)
    again = create_debate(services, OPERATOR, new)
    assert (again.replayed, again.turn.seq) == (True, 1)
    assert len(assert_sound(services, again.debate)[1]) == 1


async def test_a_turn_whose_answer_was_lost_is_stored_once_and_the_debate_goes_on(
    between: tuple[Services, ByteProxy], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, proxy = between
    debate = a_debate(services)
    thoughts: list[int] = []

    class LosesAnswers:
        async def think(self, brief: Brief) -> Thought:
            thoughts.append(brief.debate.turn_count)
            if len(thoughts) in (1, 4):
                proxy.lose_answer_to = b'"first_turn_id":"'  # in its parameters: its text is sent once
            return await ScriptedPlayer().think(brief)

    monkeypatch.setattr(claim_loop, "COMPARE_EVERY_SECONDS", 3600)
    async with live_runner(with_settings(services), lambda _: LosesAnswers()) as worker:
        worker.hint(debate.id)
        await until(lambda: is_closed(place, debate), PATIENCE_SECONDS, "the debate has come to its end")
    assert proxy.lose_answer_to is None
    assert thoughts == list(range(1, 10)), "nothing is thought twice"
    assert len(assert_sound(services, debate)[1]) == 10


def test_a_request_that_gets_no_connection_in_time_is_told_to_come_back(place: Place) -> None:
    with services_of(place.settings, 1, connection_timeout_seconds=0.3) as services:
        relay = build_relay(services)
        client = make_application(services, relay).test_client()
        with services.engine.connect():
            for answer in (client.get("/debates"), client.post("/debates", json=new_debate())):
                assert (answer.status_code, answer.json["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
                assert answer.json["error"]["message"].startswith(BUSY)
                assert int(answer.headers["Retry-After"]) >= 1
        assert client.get("/debates").status_code == 200
        relay.end()


def test_a_read_only_database_is_read_and_says_why_nothing_changes(api: Api, module_place: Place) -> None:
    debate_id = api.create()["id"]
    with read_only(module_place):
        statuses = [api.http.get(f"/debates/{debate_id}").status_code for _ in range(3)]
        assert statuses[-1] == 200
        answers = [
            api.http.post("/debates", json=new_debate()),
            api.http.post(f"/debates/{debate_id}/stop"),
            api.http.delete(f"/debates/{debate_id}"),
        ]
        for answer in answers:
            refusal_of(answer, "SERVICE_UNAVAILABLE", ONLY_READS)
            assert int(answer.headers["Retry-After"]) >= 1
            assert "SELECT" not in answer.text
        ready = api.http.get("/ready")
        assert (ready.status_code, ready.json()["data"]["database"]) == (503, "down")
        assert ready.json()["error"] == {"code": "SERVICE_UNAVAILABLE", "message": ONLY_READS}
    # The connections of before lead nowhere good, and are left at the first answer that says so.
    statuses = [api.http.post(f"/debates/{debate_id}/stop").status_code for _ in range(2)]
    assert statuses[-1] == 200
    # There may have been more than one of those connections.
    wait_until(lambda: api.http.get("/ready").status_code == 200, 30, "the database is up again")


@contextmanager
def full_disk(place: Place) -> Iterator[None]:
    """Long texts lie in a file of their own. While it is /dev/full the machine itself says that there is no room."""
    [(directory,)] = place.sql("SHOW data_directory")
    [(name,)] = place.sql("SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = 'turns'")
    file = Path(directory) / name
    assert file.stat().st_size == 0, "no long text was stored yet"
    kept = file.rename(file.with_suffix(".kept"))
    file.symlink_to("/dev/full")
    # Who has the file open does not see the other one.
    place.sql(LOSE_CONNECTIONS)
    yield
    kept.replace(file)
    place.sql(LOSE_CONNECTIONS)


def test_a_full_disk_is_said_and_nothing_is_lost(api: Api, module_place: Place) -> None:
    debate_id, motion = a_dialogue(api)
    body = {"role": "opponent", "target_id": motion, "content": secrets.token_hex(4000), "client_request_id": "long"}
    with full_disk(module_place):
        api.http.get("/debates")
        for _ in range(2):
            refusal_of(api.http.post(f"/debates/{debate_id}/arguments", json=body), "SERVICE_UNAVAILABLE", DISK_IS_FULL)
        ready = api.http.get("/ready")
        assert (ready.status_code, ready.json()["error"]["message"]) == (503, DISK_IS_FULL)
        # What is small still finds room.
        api.create(format="dialogue", seats=EXTERNAL)
    answers = [api.http.post(f"/debates/{debate_id}/arguments", json=body) for _ in range(2)]
    assert data_of(answers[-1], answers[-1].status_code)["argument"]["content"] == body["content"]
    assert api.debate(debate_id)["argument_count"] == 2


@pytest.mark.parametrize("write", ["create", "turn"])
def test_a_full_disk_is_noticed_by_whoever_writes(services: Services, place: Place, write: str) -> None:
    step = turn(claimed(services, a_debate(services)), CLAIM)
    assert readiness(services).problems == ()
    fill_disk(place)
    with pytest.raises(DatabaseUnavailable) as refused:
        a_debate(services) if write == "create" else advance.commit(services, [step])
    assert words_for(refused.value) == DISK_IS_FULL
    assert services.full_disk.is_recent
    assert readiness(services).problems == (DISK_IS_FULL,)


def test_a_process_that_froze_in_a_transaction_finds_the_database_away_and_goes_on(
    services: Services, place: Place
) -> None:
    def freeze() -> None:
        with services.engine.begin() as frozen:
            backend = frozen.exec_driver_sql("SELECT pg_backend_pid()").scalar()
            frozen.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 1")
            there = "SELECT FROM pg_stat_activity WHERE pid = %s"
            wait_until(lambda: place.sql(there, backend) == [], 60, "Postgres has ended its session")
            frozen.exec_driver_sql("SELECT 1 FROM debates")

    with pytest.raises(DatabaseUnavailable):
        freeze()
    with services.engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1
