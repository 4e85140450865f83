"""A dead agent never stops a debate for ever: deadlines that pass while workers run, are killed, or are not there."""

import os
import signal

import pytest
from harness import assert_all_is_well, wait_until

SOON = 0.7


def external(on_timeout, seconds=SOON):
    return {"player": "external", "deadline_seconds": seconds, "on_timeout": on_timeout}


@pytest.fixture
def api(place):
    return place.start_api()


def test_stop(place, api):
    debate = api.create(seats={"opponent": external("stop")})
    place.start_worker()
    ended = api.wait_closed(debate["id"])["debate"]
    assert (ended["status"], ended["stop_reason"], ended["verdict"]) == ("stopped", "time_limit", None)
    assert "The opponent did not answer" in ended["stop_note"]
    events = api.http.get(f"/debates/{debate['id']}/events").json()["data"]["events"]
    [passed] = [event for event in events if event["kind"] == "deadline_passed"]
    assert passed["about"] == {"role": "opponent"}
    assert events[-1]["about"] == {
        "stop_reason": "time_limit",
        "stop_note": ended["stop_note"],
        "missed_deadline": True,
    }
    assert ended["missed_deadline"]
    for page in (f"/debates/{debate['id']}/view", f"/debates/{debate['id']}/history", "/"):
        shown = api.http.get(page).text.lower()
        assert "a seat missed its deadline" in shown
        assert "time limit" not in shown
    assert ended["waiting_until"] is None
    assert_all_is_well(place)


def test_forfeit(place, api):
    debate = api.create(seats={"opponent": external("forfeit")})
    place.start_worker()
    ended = api.wait_closed(debate["id"])["debate"]
    assert (ended["status"], ended["stop_reason"]) == ("completed", "forfeit")
    assert ended["verdict"]["winner"] == "proposer"
    assert ended["verdict"]["scores"]["proposer"] > ended["verdict"]["scores"]["opponent"]
    assert_all_is_well(place)


def test_takeover_takes_each_turn_that_the_agent_misses(place, api):
    debate = api.create(seats={"opponent": external({"takeover": "scripted"})}, limits={"max_rounds": 2})
    place.start_worker()
    transcript = api.wait_closed(debate["id"], 60)
    spoken = [turn["player"] for turn in transcript["arguments"] if turn["role"] == "opponent"]
    assert spoken == ["scripted", "scripted"]
    assert transcript["debate"]["stop_reason"] == "max_rounds"
    assert_all_is_well(place)


def test_a_deadline_passes_while_no_worker_lives(place, api):
    """Workers die by kill -9 before the deadline; the next one that comes enforces it."""
    worker = place.start_worker()
    debate = api.create(seats={"opponent": external("forfeit", 1.5)})
    wait_until(lambda: api.debate(debate["id"])["waiting_until"] is not None, 60, "the opponent has the floor")
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    overdue = "SELECT waiting_until < clock_timestamp() FROM debates WHERE id = %s"
    wait_until(lambda: place.sql(overdue, debate["id"]) == [(True,)], 60, "the deadline has passed")
    assert api.debate(debate["id"])["status"] == "running"
    place.start_worker()
    assert api.wait_closed(debate["id"])["debate"]["stop_reason"] == "forfeit"
    assert_all_is_well(place)


@pytest.mark.long
def test_a_worker_killed_in_the_middle_of_a_takeover_loses_nothing(place, api):
    debate = api.create(seats={"opponent": external({"takeover": "scripted"})}, limits={"max_rounds": 1})
    # The first to think is the proposer, the second takes over.
    worker = place.start_worker(failpoints="think.before=crash@2")
    assert worker.wait(60) == -signal.SIGKILL
    assert place.is_claimed(debate["id"], "debater_b")
    place.start_worker()
    transcript = api.wait_closed(debate["id"], 60)
    assert [turn["player"] for turn in transcript["arguments"]] == ["scripted"] * 3
    assert_all_is_well(place)


def test_an_answer_in_time_keeps_the_seat(place, api):
    place.start_worker()
    debate = api.create(seats={"opponent": external("forfeit", 30)}, limits={"max_rounds": 1})
    wait_until(lambda: api.debate(debate["id"])["state"] == "AWAITING_OPPONENT", 60, "the opponent has the floor")
    last = api.transcript(debate["id"])["arguments"][-1]["id"]
    said = {"role": "opponent", "target_id": last, "content": "In time.", "client_request_id": "1"}
    assert api.http.post(f"/debates/{debate['id']}/arguments", json=said).status_code == 201
    assert api.wait_closed(debate["id"])["debate"]["stop_reason"] == "max_rounds"
