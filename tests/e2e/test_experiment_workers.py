"""Experiments on worker processes: killed in between, broken at each failpoint, and racing for one budget."""

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from experiment_runs import assert_whole, drafted, has_judged, started, wait_status
from harness import Api, Place, StartWorker, wait_until
from model_place import model_place

from app.core.debate import Usage
from app.models.table import cost_usd

pytestmark = pytest.mark.long

POINTS = (
    "judgment.after_claim",
    "judgment.before_commit",
    "judgment.after_commit",
    "feed.before_commit",
    "feed.after_commit",
)
BUDGET = 0.3
COUNTED = {"prompt_tokens": 1000, "completion_tokens": 400, "total_tokens": 1400}
"""What every call to the counting server uses."""
SCRIPTED = [{"name": "strong", "player": "scripted", "skill": 1}, {"name": "weak", "player": "scripted"}]


def start(api: Api, name: str, count: int, **changes: Any) -> str:
    spec = {
        "name": name,
        "contestants": SCRIPTED,
        "judges": [{"name": "script", "player": "scripted", "orders": "both"}],
        "motions": [{"id": f"m{n}", "motion": f"Motion {n}."} for n in range(count)],
        "rounds": 1,
        **changes,
    }
    return started(api, spec)


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_that_dies_there_leaves_an_experiment_that_goes_on(place: Place, point: str) -> None:
    api = place.start_api()
    victim = place.start_worker(failpoints=f"{point}=crash@1")
    at = start(api, point, 3)
    assert victim.wait(60) == -signal.SIGKILL
    place.start_worker()
    wait_status(api, at, "completed")
    assert_whole(place, 6, 12)


def test_workers_killed_in_between_lose_and_repeat_nothing(place: Place) -> None:
    api = place.start_api()
    at = start(api, "killed", 20, concurrency=10, judges=[
        {"name": "one", "player": "scripted", "orders": "both", "think_seconds": 0.05},
        {"name": "two", "player": "scripted", "orders": "both"},
    ])  # fmt: skip
    for number in range(3):
        worker = place.start_worker()
        wait_until(partial(has_judged, place, 30 * (number + 1)), 60, "some of it is judged")
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(60)
    place.redis().flushdb()
    place.start_worker()
    wait_status(api, at, "completed")
    assert_whole(place, 40, 160)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("workers", [3, pytest.param(10, marks=pytest.mark.long)])
def test_a_budget_is_never_passed_by_workers_that_race_for_it(make_place: Any, tmp_path: Path, workers: int) -> None:
    models = [{"name": name, "player": f"openai:{name}", "max_tokens": 500} for name in ("gpt-4o", "gpt-4o-mini")]
    judges = [{"name": "judge", "player": "openai:gpt-4o", "orders": "both", "max_tokens": 500}]
    # A lease that lapses because the machine is busy would count what its calls might have cost, and not what they did.
    with model_place(make_place, tmp_path, workers=workers, claim_seconds=30) as here:
        here.models.count = lambda _: COUNTED
        at = start(here.api, "budget", 30, contestants=models, judges=judges, budget_usd=BUDGET, concurrency=30)
        stopped = wait_status(here.api, at, "stopped", 300)
        assert stopped["stop_reason"] == "budget"
        assert stopped["progress"]["matches"]["planned"] + stopped["progress"]["matches"]["running"] > 0

        def paid() -> float:
            return sum(_price(call.model) for call in list(here.models.calls))

        def is_settled() -> bool:
            """No call is under way, and every call is paid for, and once."""
            [(spent_usd, reserved_usd)] = here.place.sql("SELECT spent_usd, reserved_usd FROM experiments")
            return reserved_usd < 1e-9 and spent_usd == pytest.approx(paid(), abs=1e-6)

        wait_until(is_settled, 60, "what is spent is what was called")
        calls = len(here.models.calls)
        assert paid() <= BUDGET
        assert calls > 0
        assert drafted(here.api, {**stopped["spec"], "budget_usd": 50}) == at
        assert here.api.http.post(f"{at}/start").json()["data"]["experiment"]["status"] == "running"
        wait_until(lambda: len(here.models.calls) > calls, 60, "a higher budget goes on")


def _price(model: str) -> float:
    return cost_usd(f"openai:{model}", Usage(COUNTED["prompt_tokens"], COUNTED["completion_tokens"])) or 0.0


def test_a_debate_started_by_hand_does_not_wait_behind_an_experiment(
    api: Api, module_place: Place, start_worker: StartWorker
) -> None:
    slow = [{**one, "think_seconds": 2} for one in SCRIPTED]
    at = start(api, "crowd", 100, contestants=slow, concurrency=200)
    worker = module_place.start_worker(worker_concurrency=20)
    try:
        under_way = "SELECT count(*) >= 20 FROM debates WHERE experiment_id IS NOT NULL AND claim_token IS NOT NULL"
        wait_until(lambda: module_place.sql(under_way) == [(True,)], 60, "the worker is full of the experiment")
        by_hand = api.create(format="rounds", limits={"max_rounds": 1})["id"]
        api.wait_closed(by_hand, 60)
        # Counted in turns, not in seconds: a busy machine delays everybody. Whoever waited behind the experiment would
        # wait for the first turns of all its debates.
        [(before,)] = module_place.sql(
            "SELECT count(*) FROM turns JOIN debates ON debates.id = debate_id WHERE experiment_id IS NOT NULL"
            " AND turns.seq > 1 AND turns.created_at BETWEEN (SELECT created_at FROM debates WHERE id = %s)"
            " AND (SELECT created_at FROM turns WHERE debate_id = %s AND seq = 2)",
            by_hand,
            by_hand,
        )
        assert before <= 2 * 20, "no more than the worker had in hand, and what followed of it"
    finally:
        api.http.delete(at)
        worker.terminate()
        worker.wait(60)
