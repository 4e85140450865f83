"""A database that takes no changes, seen from outside: a worker says so in its log, the command line in words, and
debates go on by themselves when it is over."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cli_home import Home
from harness import Api, Place, assert_all_is_well, new_debate, wait_until
from situations.failing import read_only

from app.store.errors import DISK_IS_FULL, ONLY_READS

pytestmark = pytest.mark.long

ONE_ROUND = {"max_rounds": 1}


@pytest.fixture(scope="module")
def logged_place(make_place: Callable[[], Place], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = replace(make_place(), log=tmp_path_factory.mktemp("logs") / "log")
    yield place
    place.end_programs()


@pytest.fixture(scope="module")
def logged_api(logged_place: Place) -> Api:
    return logged_place.start_api()


def log_of(place: Place) -> str:
    assert isinstance(place.log, Path)
    return place.log.read_text()


def wait_for_words(place: Place, event: str, words: str) -> None:
    def are_there() -> bool:
        return any(event in line and words in line for line in log_of(place).splitlines())

    wait_until(are_there, 60, f"the log has {event} with {words!r}")


def test_a_worker_that_starts_on_a_read_only_database_waits_and_goes_on(
    logged_place: Place, logged_api: Api, home: Home
) -> None:
    debate_id = str(logged_api.create(limits=ONE_ROUND)["id"])
    with read_only(logged_place):
        worker = logged_place.start_worker()
        wait_for_words(logged_place, "database.unavailable", ONLY_READS)
        assert logged_api.http.get("/ready").status_code == 503
        refused = home.debate("stop", debate_id, DEBATE_SERVER_URL=logged_api.http.base_url)
        assert (refused.process.returncode, refused.stdout) == (1, "")
        assert ONLY_READS in refused.stderr.splitlines()[-1]
    logged_api.wait_closed(debate_id, 60)
    assert worker.poll() is None
    assert "Traceback" not in log_of(logged_place)


def test_a_turn_that_a_full_disk_refused_is_stored_when_there_is_room(logged_place: Place, logged_api: Api) -> None:
    """All turns are; test_database_misbehaving.py has what the machine itself says, of long texts alone."""
    logged_place.sql(
        "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END$$"
    )
    logged_place.sql(
        "CREATE TRIGGER no_room BEFORE INSERT ON turns FOR EACH ROW WHEN (new.seq > 1) EXECUTE FUNCTION no_room()"
    )
    body = new_debate(limits=ONE_ROUND)

    def created() -> bool:
        # The first write may still meet a session of the time when the database was read-only: it is safe to repeat.
        return logged_api.http.post("/debates", json=body).status_code in (200, 201)

    wait_until(created, 60, "the debate is created")
    [debate_id] = [str(found) for (found,) in logged_place.sql("SELECT id FROM debates WHERE status <> 'completed'")]
    wait_for_words(logged_place, "database.unavailable", DISK_IS_FULL)
    assert logged_api.debate(debate_id)["argument_count"] == 1
    logged_place.sql("DROP TRIGGER no_room ON turns")
    logged_api.wait_closed(debate_id, 60)
    assert_all_is_well(logged_place)
    assert "Traceback" not in log_of(logged_place)
