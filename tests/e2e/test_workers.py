"""Debates on real worker processes: many at once, and through every accident of issue and design."""

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from harness import Api, Place, assert_whole, lock_waits, wait_until
from seating import all_thinking

THINKING = all_thinking(30)
ONLY_JUDGE_THINKS = {
    "proposer": {"player": "scripted"},
    "opponent": {"player": "scripted"},
    "arbitrator": {"player": "scripted", "think_seconds": 30},
}


@pytest.mark.long
def test_two_hundred_debates_on_two_workers_each_have_every_turn_once(place: Place) -> None:
    api = place.start_api()
    place.start_worker()
    place.start_worker()
    with ThreadPoolExecutor(16) as pool:
        created = list(pool.map(lambda _: api.create()["id"], range(200)))

    def open_debates() -> int:
        return place.sql("SELECT count(*) FROM debates WHERE status <> 'completed'")[0][0]

    wait_until(lambda: open_debates() == 0, 90, "all 200 are completed")
    for debate_id in created:
        assert_whole(api.transcript(debate_id))
    assert place.sql("SELECT count(*) FROM turns") == [(200 * 10,)]
    assert place.sql("SELECT count(DISTINCT claimed_by) FROM debates") == [(0,)]


def test_turns_do_not_wait_for_the_statements_of_other_work(place: Place) -> None:
    api = place.start_api()
    place.start_worker()
    with psycopg.connect(str(place.settings.database_url)) as somebody:
        tables = "guardrail_evaluations, judgments, webhook_deliveries, experiments"
        somebody.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
        wait_until(lambda: lock_waits(place) >= 3, 30, "the worker's other loops wait for these tables")
        debate_id = api.create(limits={"max_rounds": 1})["id"]
        # They wait for five seconds, and look again a second later.
        status = "SELECT status FROM debates WHERE id = %s"
        wait_until(lambda: place.sql(status, debate_id) == [("completed",)], 4, "the debate goes on meanwhile")


class TestWhileAPlayerThinks:
    """The four things a person can do answer at once, the debate obeys, and the late turn is dropped."""

    @pytest.fixture(scope="class")
    @classmethod
    def stage(cls, make_place: Any, tmp_path_factory: Any) -> Iterator[tuple[Place, Api]]:
        place = make_place()
        place.log = tmp_path_factory.mktemp("thinking") / "log"
        api = place.start_api()
        worker = place.start_worker()
        yield place, api
        # It would wait for the turn that is in flight.
        worker.kill()
        place.end_programs()

    def thinking(self, stage: tuple[Place, Api], actor: str = "debater_a", **changes: Any) -> str:
        place, api = stage
        debate_id = api.create(**{"seats": THINKING, **changes})["id"]
        wait_until(lambda: place.is_claimed(debate_id, actor), 60, f"{actor} is thinking")
        return debate_id

    def test_no_transaction_is_open(self, stage: tuple[Place, Api]) -> None:
        place, _ = stage
        self.thinking(stage)
        for _ in range(10):
            busy = place.sql(
                "SELECT application_name, state, query FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
                " AND now() - xact_start > interval '0.5 seconds'"
            )
            assert busy == []
            time.sleep(0.1)

    @pytest.mark.parametrize("command", ["stop", "pause"])
    def test_stop_and_pause_are_obeyed(self, stage: tuple[Place, Api], command: str) -> None:
        place, api = stage
        debate_id = self.thinking(stage)
        body = {"now": True} if command == "pause" else {}
        answer = api.http.post(f"/debates/{debate_id}/{command}", json=body, timeout=5)
        assert answer.json()["data"]["debate"]["status"] == {"stop": "stopped", "pause": "paused"}[command]
        assert not place.is_claimed(debate_id)
        if command == "pause":
            api.http.post(f"/debates/{debate_id}/resume")
            wait_until(lambda: place.is_claimed(debate_id), 60, "the resumed debate is taken up again")
            api.http.post(f"/debates/{debate_id}/stop")
        self.assert_stays(stage, debate_id, 1, cancelled=2 if command == "pause" else 1)

    def test_a_ruling_takes_the_judges_place(self, stage: tuple[Place, Api]) -> None:
        _, api = stage
        debate_id = self.thinking(stage, "judge", seats=ONLY_JUDGE_THINKS)
        answer = api.http.post(f"/debates/{debate_id}/ruling", json={"content": "Enough.", "close": True}, timeout=5)
        assert answer.status_code == 201
        assert answer.json()["data"]["debate"]["stop_reason"] == "ruling"
        self.assert_stays(stage, debate_id, 4)

    def test_delete_deletes(self, stage: tuple[Place, Api]) -> None:
        place, api = stage
        debate_id = self.thinking(stage)
        assert api.http.delete(f"/debates/{debate_id}", timeout=5).json()["data"] == {"deleted": True}
        self.wait_until_cancelled(place, debate_id)
        assert place.sql("SELECT count(*) FROM turns WHERE debate_id = %s", debate_id) == [(0,)]

    def assert_stays(self, stage: tuple[Place, Api], debate_id: str, count: int, cancelled: int = 1) -> None:
        """The worker learns within a few beats that its claim is gone, and adds nothing."""
        place, api = stage
        self.wait_until_cancelled(place, debate_id, cancelled)
        transcript = api.transcript(debate_id)
        assert transcript["debate"]["argument_count"] == count == len(transcript["arguments"]) + 1

    def wait_until_cancelled(self, place: Place, debate_id: str, times: int = 1) -> None:
        def cancellations() -> int:
            lines = place.log.read_text().splitlines() if place.log else []
            return sum('"turn.cancelled"' in line and debate_id in line for line in lines)

        wait_until(lambda: cancellations() == times, 20, "the worker gives the turn up")


def test_a_thread_whose_debate_was_stopped_is_free_again_soon(place: Place) -> None:
    api = place.start_api()
    place.start_worker(worker_concurrency=1)
    slow = api.create(seats=THINKING)["id"]
    wait_until(lambda: place.is_claimed(slow), 60, "the only thread thinks")
    quick = api.create(limits={"max_rounds": 1})["id"]
    api.http.post(f"/debates/{slow}/stop")
    assert_whole(api.wait_closed(quick, 10), rounds=1)


def test_a_killed_workers_turn_is_taken_over(place: Place) -> None:
    api = place.start_api()
    victim = place.start_worker()
    debate_id = api.create(seats={"opponent": {"player": "scripted", "think_seconds": 1}}, limits={"max_rounds": 2})[
        "id"
    ]
    wait_until(lambda: place.is_claimed(debate_id, "debater_b"), 60, "the second turn is being thought about")
    [(first_holder,)] = place.sql("SELECT claimed_by FROM debates")
    os.kill(victim.pid, signal.SIGKILL)
    killed_at = time.monotonic()
    place.start_worker()
    wait_until(
        lambda: place.sql("SELECT claimed_by FROM debates")[0][0] not in (None, first_holder), 20, "another claims it"
    )
    # The claim lapses after claim_seconds, the sweeper comes every second, and starting a worker takes a moment.
    assert time.monotonic() - killed_at < place.settings.claim_seconds + 8
    assert_whole(api.wait_closed(debate_id, 40), rounds=2)


@pytest.mark.long
def test_a_worker_that_is_told_to_end_hands_its_turns_back(place: Place) -> None:
    api = place.start_api()
    first = place.start_worker(claim_seconds=600)
    debate_id = api.create(seats=THINKING)["id"]
    wait_until(lambda: place.is_claimed(debate_id), 60, "a turn is being thought about")
    first.terminate()
    assert first.wait(60) == 0
    # Nobody waits for the claim's ten minutes: it was given back.
    assert place.sql("SELECT claim_token, due_at <= now() FROM debates") == [(None, True)]
    assert place.sql("SELECT count(*) FROM worker_leases") == [(0,)]
    place.start_worker()
    wait_until(lambda: place.is_claimed(debate_id), 60, "the next worker takes it up")


def test_turns_in_hand_finish_when_a_worker_is_told_to_end(place: Place) -> None:
    api = place.start_api()
    worker = place.start_worker()
    debate_id = api.create(seats=all_thinking(2))["id"]
    wait_until(lambda: place.is_claimed(debate_id), 60, "a turn is being thought about")
    worker.terminate()
    assert worker.wait(60) == 0
    assert api.debate(debate_id)["argument_count"] == 2


def test_an_external_seat_waits_and_no_task_is_queued(place: Place) -> None:
    api = place.start_api()
    place.start_worker()
    debate_id = api.create(seats={"opponent": {"player": "external"}})["id"]
    wait_until(lambda: api.debate(debate_id)["state"] == "AWAITING_OPPONENT", 60, "the opponent has the floor")
    time.sleep(1.5)
    assert place.redis().llen("debates") == 0
    assert api.debate(debate_id)["argument_count"] == 2


def test_events_are_published_after_each_commit(place: Place) -> None:
    debate_id = str(uuid4())
    listener = place.redis().pubsub()
    listener.subscribe(f"debate:events:{debate_id}")
    api = place.start_api()
    place.start_worker()
    api.create(debate_id=debate_id, limits={"max_rounds": 1})
    api.wait_closed(debate_id)
    events = []
    deadline = time.monotonic() + 5
    while len(events) < 4 and time.monotonic() < deadline:
        message = listener.get_message(ignore_subscribe_messages=True, timeout=0.2)
        if message:
            events.append(json.loads(message["data"]))
    assert [event["event"] for event in events] == 4 * ["new_argument"]
    assert [event["data"]["argument"]["seq"] for event in events] == [1, 2, 3, 4]
    transcript = api.transcript(debate_id)
    assert [event["data"]["argument"] for event in events] == [transcript["motion"], *transcript["arguments"]]
    assert events[-1]["data"]["debate"] == transcript["debate"]
