"""Stops, starts, retries and deletions at any moment leave no match behind: each changes with its debate, at once."""

import asyncio
import contextlib
import random
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from claimed_debates import until
from experiment_steps import (
    a_spec,
    at_work,
    counts,
    debate_ids,
    hold_until,
    made,
    motions,
    started_over_http,
    status_is,
)
from harness import Place, wait_until
from situations import debates, experiments
from structlog.testing import capture_logs
from worker_loop import PATIENCE_SECONDS

from app.core.access import OPERATOR
from app.core.brief import Brief, Thought
from app.core.errors import Conflict, DebateError
from app.core.retry import NotNow, PlayerError
from app.observe import failpoints
from app.usecases import control, maintenance, model_calls
from app.usecases.experiments import feed, manage, pausing
from app.usecases.model_calls import Reservation
from app.usecases.services import Services
from worker.players.registry import player_for


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    failpoints.arm("")


def failed(services: Services, place: Place, count: int, **changes: Any) -> UUID:
    """An experiment all of whose debates have failed, as after an outage of a provider."""
    experiment_id: UUID = made(services, count // 2, **{"concurrency": count, "judges": None, **changes})
    feed.feed_experiment(services, experiment_id)
    debates.fail(place, error="The provider was unavailable.")
    feed.feed_experiment(services, experiment_id)
    assert counts(place) == {"failed": count}
    return experiment_id


# Retrying


async def test_no_retried_match_is_lost_while_workers_feed(services: Services, place: Place) -> None:
    experiment_id = failed(services, place, 60)
    async with at_work(services):
        _, count = await asyncio.to_thread(manage.retry_failed, services, OPERATOR, experiment_id)
        assert count == 60
        await until(status_is(place, "completed"), PATIENCE_SECONDS, "all of it is held")
    assert counts(place) == {"completed": 60}
    assert counts(place, "debates") == {"completed": 60}
    assert manage.retry_failed(services, OPERATOR, experiment_id)[1] == 0


def test_a_retry_that_breaks_off_leaves_each_match_with_its_debate(services: Services, place: Place) -> None:
    experiment_id = failed(services, place, 4)

    def retry_and_feed() -> None:
        manage.retry_failed(services, OPERATOR, experiment_id)
        feed.feed_experiment(services, experiment_id)

    failpoints.arm("control.before_commit=raise@1; feed.before_commit=raise@1")
    with pytest.raises(failpoints.FailpointRaised):
        retry_and_feed()
    failpoints.arm("")
    for _ in range(2):
        feed.feed_experiment(services, experiment_id)
    assert place.sql(
        "SELECT matches.status, debates.status, count(*) FROM matches JOIN debates ON debate_id = debates.id"
        " GROUP BY 1, 2"
    ) == [("running", "running", 4)]


def test_a_retry_begins_no_more_than_the_concurrency_allows(services: Services, place: Place) -> None:
    experiment_id = failed(services, place, 8)
    manage.draft(services, OPERATOR, a_spec(concurrency=3, judges=None))
    manage.retry_failed(services, OPERATOR, experiment_id)
    feed.feed_experiment(services, experiment_id)
    assert counts(place) == {"planned": 5, "running": 3}


def test_a_failed_debate_that_a_person_resumes_to_its_end_completes_its_match(services: Services, place: Place) -> None:
    experiment_id = failed(services, place, 2, judges=a_spec()["judges"])
    assert status_is(place, "completed")()
    first, other = (row[0] for row in place.sql("SELECT id FROM debates ORDER BY id"))
    control.resume_debate(services, OPERATOR, first)
    hold_until(services, status_is(place, "completed"))
    assert counts(place) == {"completed": 1, "failed": 1}
    assert counts(place, "judgments") == {"completed": 2}
    assert manage.retry_failed(services, OPERATOR, experiment_id)[1] == 1, "what was held is not held again"
    hold_until(services, status_is(place, "completed"))
    assert {row[0] for row in place.sql("SELECT debate_id FROM matches WHERE status = 'completed'")} == {first, other}


def test_an_imported_experiment_cannot_be_retried(services: Services, place: Place) -> None:
    experiment_id = made(services, 1)
    experiments.make_imported(place)
    with pytest.raises(Conflict, match="imported"):
        manage.retry_failed(services, OPERATOR, experiment_id)


# Deletions


def test_an_experiment_survives_the_deletion_of_its_debates(place: Place) -> None:
    api = place.start_api()
    at = started_over_http(api.http.request, 1)
    place.start_worker()
    wait_until(status_is(place, "completed"), 60, "it is held")
    first, other = debate_ids(place)
    assert api.http.delete(f"/debates/{first}").status_code == 200
    assert place.sql("SELECT reason FROM matches WHERE debate_id = %s", first) == [("The debate was deleted.",)]

    def works(method: str, path: str, **given: Any) -> dict[str, Any]:
        answer = api.http.request(method, f"{at}{path}", **given)
        assert answer.status_code == 200, (path, answer.text)
        return answer.json()["data"] if answer.headers["Content-Type"] == "application/json" else {}

    works("POST", "/start")
    more = works("POST", "/judges", json={"judges": [{"name": "second", "player": "scripted"}]})
    assert more["count"] == 1
    for what in ("debates", "turns", "judgments"):
        works("GET", "/export", params={"what": what})
    assert works("GET", "/results")["results"]["missing"]["matches"]["failed"] == 1
    assert works("GET", "/plan")["plan"]["matches"] == 0
    wait_until(status_is(place, "completed"), 60, "it is judged again")
    assert works("POST", "/retry-failed")["count"] == 1
    wait_until(lambda: counts(place) == {"completed": 2}, 60, "another debate is held")
    wait_until(status_is(place, "completed"), 60, "and judged")
    assert place.sql("SELECT count(*) FROM judgments") == [(6,)]
    assert place.sql("SELECT count(*) FROM debates WHERE id = %s", other) == [(1,)]


def test_an_experiment_survives_pruning(services: Services, place: Place) -> None:
    experiment_id = made(services, 1)
    hold_until(services, status_is(place, "completed"))
    debates.age(place, 365 * 86_400)
    [(now,)] = place.sql("SELECT now()")
    assert sum(batch.debates for batch in maintenance.prune(services, now)) == 2
    assert counts(place) == {"failed": 2}
    manage.add_judges(services, OPERATOR, experiment_id, [{"name": "second", "player": "scripted"}])
    assert manage.start(services, OPERATOR, experiment_id).status == "completed"


def test_a_debate_that_was_deleted_before_this_was_noted_is_not_judged(services: Services, place: Place) -> None:
    experiment_id = made(services, 2)
    hold_until(services, status_is(place, "completed"))
    experiments.lose_a_debate(place)
    manage.add_motions(services, OPERATOR, experiment_id, motions(3))
    assert manage.add_judges(services, OPERATOR, experiment_id, [{"name": "second", "player": "scripted"}])[1] == 3
    manage.start(services, OPERATOR, experiment_id)
    hold_until(services, status_is(place, "completed"))


# Stops and starts


def test_a_start_during_a_stop_leaves_no_debate_paused(services: Services, place: Place) -> None:
    experiment_id = made(services, 1, concurrency=1)
    feed.feed_experiment(services, experiment_id)
    failpoints.arm("control.before_commit=sleep(1)@1")
    stopping = threading.Thread(target=manage.stop, args=(services, OPERATOR, experiment_id))
    stopping.start()
    wait_until(status_is(place, "stopped"), PATIENCE_SECONDS, "the stop is committed, and pauses its debate")
    manage.start(services, OPERATOR, experiment_id)
    stopping.join()
    pausing.pause_or_resume_all(services)
    [(reason, status)] = place.sql("SELECT reason, debates.status FROM matches JOIN debates ON debate_id = debates.id")
    assert (reason, status == "paused") == (None, False)
    hold_until(services, status_is(place, "completed"))


async def test_stops_and_starts_from_two_threads_end_in_a_whole_experiment(services: Services, place: Place) -> None:
    experiment_id = made(services, 6, concurrency=6)

    def repeat(action: Any) -> None:
        for _ in range(15):
            try:
                action(services, OPERATOR, experiment_id)
            except Conflict:
                continue

    with capture_logs() as logs:
        async with at_work(services):
            await asyncio.gather(*(asyncio.to_thread(repeat, action) for action in (manage.stop, manage.start)))
            await asyncio.to_thread(manage.start, services, OPERATOR, experiment_id)
            await until(status_is(place, "completed"), PATIENCE_SECONDS, "all of it is held")
    assert counts(place) == {"completed": 12}
    assert [line for line in logs if line["log_level"] == "error"] == []


def test_a_person_may_resume_a_debate_of_a_stopped_experiment(services: Services, place: Place) -> None:
    experiment_id = made(services, 1, concurrency=1)
    feed.feed_experiment(services, experiment_id)
    manage.stop(services, OPERATOR, experiment_id)
    [(debate_id,)] = place.sql("SELECT id FROM debates WHERE status = 'paused'")
    control.resume_debate(services, OPERATOR, debate_id)
    pausing.pause_or_resume_all(services)
    assert place.sql("SELECT status FROM debates") == [("running",)]
    manage.start(services, OPERATOR, experiment_id)
    hold_until(services, status_is(place, "completed"))


class Judge:
    """Fails as it is told at its first judgment, once it is let go; judges the others."""

    def __init__(self, problem: Exception) -> None:
        self.asked: list[str] = []
        self.let_go = asyncio.Event()
        self.problem = problem

    async def think(self, brief: Brief) -> Thought:
        if brief.judgment is not None:
            self.asked.append(brief.judgment.judge)
            if len(self.asked) == 1:
                await self.let_go.wait()
                raise self.problem
        return await player_for("scripted").think(brief)


def one_judge(name: str) -> dict[str, Any]:
    return {"swap_sides": False, "judges": [{"name": name, "player": "scripted"}]}


async def test_no_judgment_begins_after_a_stop(services: Services, place: Place) -> None:
    with capture_logs():
        judge = Judge(PlayerError("Later.", retry_after_seconds=0.01))
        stopped = made(services, 1, **one_judge("first"))
        async with at_work(services, lambda _: judge):
            await until(lambda: len(judge.asked) == 1, PATIENCE_SECONDS, "the judge thinks")
            await asyncio.to_thread(manage.stop, services, OPERATOR, stopped)
            judge.let_go.set()
            is_free = "SELECT attempts, claim_token FROM judgments"
            await until(lambda: place.sql(is_free) == [(1, None)], PATIENCE_SECONDS, "it has failed")
            # What the same loop judges meanwhile was due later.
            await asyncio.to_thread(lambda: made(services, 3, name="other", **one_judge("other")))
            done = "SELECT status FROM experiments WHERE name = 'other'"
            await until(lambda: place.sql(done) == [("completed",)], PATIENCE_SECONDS, "the other one is judged")
            assert judge.asked == ["first", "other", "other", "other"]
            await asyncio.to_thread(manage.start, services, OPERATOR, stopped)
            await until(status_is(place, "completed", "completed"), PATIENCE_SECONDS, "it is judged")


async def test_a_start_releases_what_was_postponed(services: Services, place: Place) -> None:
    with capture_logs():
        judge = Judge(NotNow("The budget is reached.", 3000.0))
        experiment_id = made(services, 1, **one_judge("first"))
        async with at_work(services, lambda _: judge):
            await until(lambda: len(judge.asked) == 1, PATIENCE_SECONDS, "the judge thinks")
            await asyncio.to_thread(manage.stop, services, OPERATOR, experiment_id)
            judge.let_go.set()
            is_free = "SELECT count(*) FROM judgments WHERE claim_token IS NULL"
            await until(lambda: place.sql(is_free) == [(1,)], PATIENCE_SECONDS, "it is postponed")
            await asyncio.to_thread(manage.start, services, OPERATOR, experiment_id)
            await until(status_is(place, "completed"), PATIENCE_SECONDS, "it is judged")


# Feeding


def test_reservations_of_the_budget_do_not_keep_a_feeder_from_feeding(services: Services, place: Place) -> None:
    models = [{"name": name, "player": f"openai:{name}"} for name in ("gpt-5-mini", "gpt-5")]
    experiment_id = made(services, 20, concurrency=1, budget_usd=1000, contestants=models)
    ending = threading.Event()

    def call() -> None:
        while not ending.is_set():
            reservation = model_calls.reserve(services, 0.001, experiment_id, "worker")
            assert isinstance(reservation, Reservation)
            model_calls.settle(services, reservation, 0.0)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for each in threads:
        each.start()
    try:
        made_ = []
        for _ in range(20):
            made_.append(feed.feed_experiment(services, experiment_id).made)
            debates.complete(place)
    finally:
        ending.set()
        for each in threads:
            each.join()
    assert made_ == [1] * 20


# Everything at once


class Unsteady:
    """Waits, fails for now and fails for good, until it is calm."""

    def __init__(self, drawn: random.Random) -> None:
        self.drawn = drawn
        self.is_calm = False

    async def think(self, brief: Brief) -> Thought:
        chance = 1.0 if self.is_calm else self.drawn.random()
        if chance < 0.1:
            raise NotNow("Wait.", 0.01)
        if chance < 0.2:
            raise PlayerError("It failed.", retry_after_seconds=0.01, permanent=chance < 0.15)
        return await player_for("scripted").think(brief)


EXPERIMENT_ACTIONS = (manage.start, manage.start, manage.start, manage.stop, manage.pause, manage.retry_failed)
DEBATE_ACTIONS = (
    control.resume_debate,
    control.pause_debate,
    lambda *given: control.stop_debate(*given, None),
    control.delete_debate,
)


def operate(services: Services, place: Place, experiment_ids: list[UUID], drawn: random.Random) -> None:
    for _ in range(40):
        found = place.sql("SELECT id FROM debates ORDER BY updated_at DESC LIMIT 10")
        with contextlib.suppress(DebateError):
            if found and drawn.random() < 0.4:
                drawn.choice(DEBATE_ACTIONS)(services, OPERATOR, drawn.choice(found)[0])
            else:
                drawn.choice(EXPERIMENT_ACTIONS)(services, OPERATOR, drawn.choice(experiment_ids))


async def test_random_operations_from_several_threads_leave_whole_experiments(services: Services, place: Place) -> None:
    player = Unsteady(random.Random(1))
    ids = [made(services, 4, name=f"e{n}", rounds=2) for n in range(2)]
    with capture_logs() as logs:
        async with at_work(services, lambda _: player, "one"), at_work(services, lambda _: player, "two"):
            threads = [asyncio.to_thread(operate, services, place, ids, random.Random(n)) for n in range(3)]
            await asyncio.gather(*threads)
            player.is_calm = True

            def is_whole() -> bool:
                """What people have paused they resume, and what has failed is retried."""
                pausing.pause_or_resume_all(services)
                for (debate_id,) in place.sql("SELECT id FROM debates WHERE status = 'paused'"):
                    with contextlib.suppress(DebateError):
                        control.resume_debate(services, OPERATOR, debate_id)
                for experiment_id in ids:
                    manage.retry_failed(services, OPERATOR, experiment_id)
                    if place.sql("SELECT status FROM experiments WHERE id = %s", experiment_id) != [("completed",)]:
                        manage.start(services, OPERATOR, experiment_id)
                return (
                    counts(place) == {"completed": 16} and status_is(place, "completed", "completed")() and is_judged()
                )

            def is_judged() -> bool:
                """A judgment that was under way when the player calmed down may have failed after the last retry."""
                return place.sql(
                    "SELECT DISTINCT debates.status, count(*) FROM matches JOIN debates ON debates.id = debate_id"
                    " JOIN judgments ON judgments.debate_id = debates.id AND judgments.status = 'completed' GROUP BY 1"
                ) == [("completed", 32)]

            await until(is_whole, PATIENCE_SECONDS, "both are whole")
    assert [line for line in logs if line["log_level"] == "error"] == []
