"""Machines that do not agree on the time: the database's clock decides, and theirs are used for nothing."""

import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest
from agents import TOKEN
from harness import REPOSITORY, Api, Place, assert_all_is_well, wait_until
from seating import all_thinking

from app.store.ids import time_of

pytestmark = pytest.mark.long
TWO_HOURS = 7200
"""Longer than any time limit of ours or of the queue's."""
THINKS = all_thinking(300)


def machine(place: Place, wrong_by_seconds: int) -> Place:
    """Another one on the same servers, whose clock is wrong."""
    path = f"{Path(__file__).parent / 'wrong_clock'}:{REPOSITORY}"
    return Place(place.settings, environment={"PYTHONPATH": path, "WRONG_BY_SECONDS": str(wrong_by_seconds)})


@pytest.fixture(scope="module")
def machines(make_place: Callable[[], Place]) -> Iterator[tuple[Place, Place]]:
    """One is two hours ahead, one two hours behind."""
    place = make_place()
    settled = Place(place.settings.with_changes(auth_token=TOKEN, rate_limit="off"))
    made = machine(settled, TWO_HOURS), machine(settled, -TWO_HOURS)
    yield made
    for one in made:
        one.end_programs()


@pytest.fixture(scope="module")
def apis(machines: tuple[Place, Place]) -> tuple[Api, Api]:
    ahead, behind = (one.start_api() for one in machines)
    for api in (ahead, behind):
        api.http.headers["Authorization"] = f"Bearer {TOKEN}"
    return ahead, behind


def is_at_work(place: Place, worker: "subprocess.Popen[bytes]") -> bool:
    return place.sql("SELECT count(*) FROM worker_leases WHERE worker_id LIKE %s", f"%:{worker.pid}:%") == [(1,)]


def database_now(place: Place) -> datetime:
    now: datetime = place.sql("SELECT clock_timestamp()")[0][0]
    return now


def assert_recent(moment: datetime | str | None, place: Place) -> None:
    assert moment is not None
    parsed = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    assert abs(database_now(place) - parsed) < timedelta(minutes=10)


@pytest.mark.parametrize("first", [0, 1], ids=["ahead then behind", "behind then ahead"])
def test_a_turn_stays_with_its_worker_while_that_lives_and_goes_to_the_other_when_its_lease_has_lapsed(
    machines: tuple[Place, Place], apis: tuple[Api, Api], first: int
) -> None:
    holder = machines[first].start_worker()
    place, api = machines[1 - first], apis[1 - first]
    debate_id = str(api.create(seats=THINKS)["id"])
    wait_until(lambda: place.is_claimed(debate_id), 60, "it is thought about")
    other = place.start_worker()
    wait_until(lambda: is_at_work(place, other), 60, "the other one is there")
    claim = "SELECT claim_token, claimed_by FROM debates WHERE id = %s"
    [before] = place.sql(claim, debate_id)
    lease = "SELECT expires_at FROM worker_leases WHERE worker_id = %s"
    [(expires_at,)] = place.sql(lease, before[1])
    [held] = [turn for one in api.http.get("/system/status").json()["data"]["work"]["workers"] for turn in one["holds"]]
    assert_recent(held["since"], place)
    # Longer than a lease lasts: it is renewed, and not taken for lapsed by whoever thinks that it is later.
    twice = expires_at + timedelta(seconds=place.settings.claim_seconds)
    wait_until(lambda: database_now(place) > twice, 60, "a lease would have lapsed twice")
    assert place.sql(claim, debate_id)[0][0] == before[0]
    holder.kill()
    holder.wait()
    [(lapses_at,)] = place.sql(lease, before[1])
    wait_until(lambda: place.sql(claim, debate_id)[0][1] not in (None, before[1]), 60, "the other has taken over")
    assert database_now(place) >= lapses_at
    api.http.post(f"/debates/{debate_id}/stop")
    api.wait_closed(str(api.create(limits={"max_rounds": 1})["id"]), 40)
    assert_all_is_well(place)
    other.terminate()
    other.wait(60)


def test_every_moment_comes_from_the_database(machines: tuple[Place, Place], apis: tuple[Api, Api]) -> None:
    place = machines[0]
    moments = "SELECT id, created_at FROM turns UNION ALL SELECT id, created_at FROM debates"
    for made, created_at in place.sql(moments):
        assert_recent(created_at, place)
        if made.version == 7:
            assert_recent(time_of(made), place)
    turns = "SELECT count(*) FROM turns WHERE created_at > clock_timestamp() - make_interval(secs => %s)"
    for api in apis:
        for debate in api.http.get("/debates").json()["data"]["debates"]:
            assert_recent(debate["updated_at"], place)
        most = place.sql(turns, 65)[0][0]
        work = api.http.get("/system/status").json()["data"]["work"]
        assert_recent(work["now"], place)
        assert place.sql(turns, 55)[0][0] <= work["turns_last_minute"] <= most


def test_who_signed_in_at_one_api_is_signed_in_at_the_other(apis: tuple[Api, Api]) -> None:
    for here, there in (apis, reversed(apis)):
        signed = httpx.post(
            here.http.base_url.join("/sign-in"),
            data={"token": TOKEN, "next": "/"},
            headers={"Sec-Fetch-Site": "same-origin"},
            trust_env=False,
        )
        cookies = {"debate_session": signed.cookies["debate_session"]}
        page = httpx.get(there.http.base_url.join("/system"), cookies=cookies, trust_env=False)
        assert page.status_code == 200, page.headers
