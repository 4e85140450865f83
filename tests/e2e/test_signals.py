"""A worker and an API process that are killed, stopped for a while and ended: what is left, and that debates go on.

A worker's SIGTERM is in test_workers.py, and so is the takeover from one that was killed.
"""

import os
import signal
import subprocess
import threading

import psutil
import pytest
from harness import Api, Place, StartWorker, assert_all_is_well, is_gone, new_debate, wait_until

THINKING = {role: {"player": "scripted", "think_seconds": 1.5} for role in ("proposer", "opponent", "arbitrator")}


def thinking(api: Api, place: Place) -> str:
    debate_id = str(api.create(seats=THINKING, limits={"max_rounds": 1})["id"])
    wait_until(lambda: place.is_claimed(debate_id), 60, "the first turn is being thought about")
    return debate_id


def test_a_worker_that_is_stopped_longer_than_its_claim_lasts_drops_its_turn(
    api: Api, module_place: Place, start_worker: StartWorker
) -> None:
    """It wakes up in the middle of a thought and believes that the turn is its own."""
    sleeper = start_worker("")
    debate_id = thinking(api, module_place)
    [(holder,)] = module_place.sql("SELECT claimed_by FROM debates WHERE id = %s", debate_id)
    sleeper.send_signal(signal.SIGSTOP)
    other = start_worker("")

    def holder_now() -> object:
        return module_place.sql("SELECT claimed_by FROM debates WHERE id = %s", debate_id)[0][0]

    wait_until(lambda: holder_now() not in (None, holder), 60, "another has taken the turn over")
    assert module_place.sql("SELECT count(*) FROM turns WHERE debate_id = %s", debate_id) == [(1,)]
    sleeper.send_signal(signal.SIGCONT)
    api.wait_closed(debate_id, 40)
    assert_all_is_well(module_place)
    # It is as good as before: what it is given alone, it does.
    other.terminate()
    other.wait(60)
    api.wait_closed(str(api.create(limits={"max_rounds": 1})["id"]), 40)
    assert sleeper.poll() is None


@pytest.fixture(scope="module")
def worker(module_place: Place) -> "subprocess.Popen[bytes]":
    """For all of what follows."""
    return module_place.start_worker()


def master(place: Place) -> psutil.Process:
    """gunicorn's first process, of the API that was started last."""
    [*_, started] = [program for program in place.programs if "gunicorn" in program.args]
    return psutil.Process(started.pid)


def serving(place: Place) -> psutil.Process:
    """The one that answers the requests."""
    [child] = master(place).children()
    return child


@pytest.mark.long
def test_an_api_that_is_stopped_for_a_while_answers_when_it_goes_on(
    api: Api, module_place: Place, worker: object
) -> None:
    debate_id = thinking(api, module_place)
    stopped = master(module_place), serving(module_place)
    stopped[0].suspend()
    assert api.debate(debate_id)["id"] == debate_id, "the master only watches"
    stopped[1].suspend()
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(api.http.post("/debates", json=new_debate()).status_code))
    asking.start()
    status = "SELECT status FROM debates WHERE id = %s"
    # The workers need nobody to go on with what they have.
    wait_until(lambda: module_place.sql(status, debate_id) == [("completed",)], 60, "the debate has ended meanwhile")
    assert answers == []
    # The master last: it would take the other one for hung.
    for process in reversed(stopped):
        process.resume()
    asking.join(30)
    assert answers == [201]
    assert (master(module_place), serving(module_place)) == stopped


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("which", ["the serving process", "its master"])
def test_an_api_that_is_gone_comes_back_to_debates_that_went_on(
    api: Api, module_place: Place, worker: object, which: str, number: signal.Signals
) -> None:
    first, answering = master(module_place), serving(module_place)
    body = new_debate(limits={"max_rounds": 1})
    debate_id = api.http.post("/debates", json=body).json()["data"]["debate"]["id"]
    os.kill(answering.pid if which == "the serving process" else first.pid, number)
    # Nobody is left who holds the port and no longer answers.
    wait_until(lambda: is_gone(answering), 60, "the serving process is gone")
    if which == "its master":
        wait_until(lambda: is_gone(first), 60, "the master is gone")
        module_place.start_api(port=api.http.base_url.port)
    wait_until(api.is_up, 60, "there is an API at the same address")
    again = api.http.post("/debates", json=body)
    assert (again.status_code, again.json()["data"]["debate"]["id"]) == (200, debate_id)
    api.wait_closed(debate_id, 40)
    assert_all_is_well(module_place)
