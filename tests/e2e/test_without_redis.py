"""Redis carries hints only: down, frozen or emptied, no debate and no turn is lost."""

import time

import pytest
from harness import OwnValkey, Place, assert_whole, wait_until
from seating import all_thinking
from watchers import a_dialogue, argue, heard, watching

pytestmark = pytest.mark.long


def test_a_debate_created_while_redis_is_down_runs_all_the_same(stage: tuple[Place, OwnValkey]) -> None:
    place, valkey = stage
    api = place.start_api()
    place.start_worker()
    wait_until(lambda: place.sql("SELECT count(*) FROM worker_leases") == [(1,)], 60, "the worker is there")
    valkey.stop()
    began = time.monotonic()
    debate_id = api.create()["id"]
    assert time.monotonic() - began < 2
    ready = api.http.get("/ready")
    assert (ready.status_code, ready.json()["data"]["queue"]) == (503, "down")
    assert_whole(api.wait_closed(debate_id, 40))
    valkey.start()
    assert_whole(api.wait_closed(api.create()["id"], 40))


def test_a_redis_that_never_answers_holds_up_no_request(stage: tuple[Place, OwnValkey]) -> None:
    place, valkey = stage
    api = place.start_api()
    place.start_worker()
    assert_whole(api.wait_closed(api.create()["id"]))
    valkey.freeze()
    began = time.monotonic()
    created = [api.create()["id"] for _ in range(5)]
    assert time.monotonic() - began < 3
    valkey.thaw()
    for debate_id in created:
        assert_whole(api.wait_closed(debate_id, 40))


def test_everything_in_redis_thrown_away_loses_nothing(stage: tuple[Place, OwnValkey]) -> None:
    place, _ = stage
    api = place.start_api()
    created = [api.create()["id"] for _ in range(20)]
    wait_until(lambda: place.redis().llen("debates") == 20, 60, "all are queued")
    place.redis().flushall()
    place.start_worker()
    think = all_thinking(0.3)
    running = [api.create(seats=think)["id"] for _ in range(5)]
    wait_until(lambda: all(place.is_claimed(debate_id) for debate_id in running), 60, "five are thinking")
    place.redis().flushall()
    for debate_id in created + running:
        assert_whole(api.wait_closed(debate_id, 40))


def test_watchers_get_every_turn_while_redis_is_down_for_ten_seconds_and_keep_their_connection(
    stage: tuple[Place, OwnValkey],
) -> None:
    place, valkey = stage
    api = place.start_api()
    debate_id, last = a_dialogue(api)
    with watching(api, debate_id) as socket:
        assert heard(socket)[0] == "initial_state"
        valkey.stop()
        down_until = time.monotonic() + 10
        seq = 1
        while time.monotonic() < down_until:
            last, seq = argue(api, debate_id, last, "opponent" if seq % 2 else "proposer"), seq + 1
            # From Postgres, which is asked every second now.
            event, data = heard(socket, 8)
            assert (event, data["argument"]["id"], data["argument"]["seq"]) == ("new_argument", last, seq)
        valkey.start()
        # The subscription mends itself within two seconds; from then on turns come at once again.
        for _ in range(4):
            last, seq = argue(api, debate_id, last, "opponent" if seq % 2 else "proposer"), seq + 1
            assert heard(socket)[1]["argument"]["seq"] == seq
            time.sleep(1)
        argue(api, debate_id, last, "opponent" if seq % 2 else "proposer")
        assert heard(socket)[1]["argument"]["seq"] == seq + 1
