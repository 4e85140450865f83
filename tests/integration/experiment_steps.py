"""Experiments in the process of a test: made, started, and held by real loops of a worker."""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest
from claimed_debates import until
from harness import wait_until
from worker_loop import PATIENCE_SECONDS, calls_to, live_lease, players_of, with_settings

from app.core.access import OPERATOR
from app.core.experiments.motions import motion_of
from app.usecases.experiments import manage
from worker import feeder as feeder_module
from worker.claim_loop import ClaimLoop
from worker.feeder import Feeder
from worker.judging import JudgmentWork
from worker.players.registry import player_for
from worker.turns import Turns

LOOK_EVERY_SECONDS = 0.1


def a_spec(**changes):
    spec = {
        "name": "demo",
        "contestants": [
            {"name": "strong", "player": "scripted", "skill": 1},
            {"name": "weak", "player": "scripted", "skill": -1},
        ],
        "format": "final_ruling",
        "rounds": 1,
        "judges": [{"name": "script", "player": "scripted", "orders": "both"}],
        "concurrency": 4,
        "seed": 7,
    }
    return {name: value for name, value in {**spec, **changes}.items() if value is not None}


def motions(count, first=1):
    return [motion_of({"id": f"m{n}", "motion": f"Motion number {n}."}) for n in range(first, first + count)]


def drafted(services, given=3, caller=OPERATOR, **changes):
    """An experiment with these motions, or so many."""
    experiment, _ = manage.draft(services, caller, a_spec(**changes))
    manage.add_motions(services, caller, experiment.id, motions(given) if isinstance(given, int) else given)
    return experiment.id


def made(services, given=3, caller=OPERATOR, **changes):
    """The same, and started."""
    return manage.start(services, caller, drafted(services, given, caller, **changes)).id


def started_over_http(ask, count=2, **changes):
    """Its path. `ask` sends a request, of a method to a path."""
    listed = [{"id": f"m{n}", "motion": f"Motion {n}."} for n in range(1, count + 1)]
    answer = ask("POST", "/experiments", json={"motions": listed, **a_spec(**changes)})
    assert answer.status_code == 201, answer.text
    at = f"/experiments/{answer.json()['data']['experiment']['id']}"
    assert ask("POST", f"{at}/start").json()["data"]["experiment"]["status"] == "running"
    return at


def completed_over_http(ask, place, count=2, **changes):
    """The same, and held to its end by a worker."""
    at = started_over_http(ask, count, **changes)
    worker = place.start_worker()
    wait_until(lambda: ask("GET", at).json()["data"]["experiment"]["status"] == "completed", 60, "it is held")
    worker.terminate()
    worker.wait(60)
    return at


def counts(place, table="matches"):
    return dict(place.sql(f"SELECT status, count(*) FROM {table} GROUP BY status"))  # noqa: S608


def debate_ids(place):
    """In the order of the plan."""
    return [row[0] for row in place.sql("SELECT debate_id FROM matches ORDER BY position")]


@asynccontextmanager
async def at_work(services, find_player=player_for, name="worker"):
    """A worker's loops: they debate, judge and feed. They look often: the test that starts something gives no hint."""
    executor = ThreadPoolExecutor(6, "statements")

    def lost():
        runner.end_all_claims()
        judging.end_all_claims()

    async with contextlib.AsyncExitStack() as stack:
        patched = stack.enter_context(pytest.MonkeyPatch.context())
        for part, often in (
            (feeder_module, "POLL_SECONDS"),
            (JudgmentWork, "poll_seconds"),
            (Turns, "poll_seconds"),
        ):
            patched.setattr(part, often, LOOK_EVERY_SECONDS)
        lease = await stack.enter_async_context(live_lease(with_settings(services), lost, name))
        judging = ClaimLoop(lease, JudgmentWork(services, executor, find_player))
        feeder = Feeder(services, lease, executor, judging.hint)
        runner = ClaimLoop(lease, Turns(services, lease, executor, find_player, feeder.hint))
        for part in (judging, feeder, runner):
            part.start()
        try:
            yield feeder
        finally:
            for part in (feeder, runner, judging):
                await part.shut_down(0.1)
    executor.shutdown()


def hold_until(services, condition, find_player=player_for):
    async def work():
        async with at_work(services, find_player):
            await until(condition, PATIENCE_SECONDS, "the experiment has come that far")

    asyncio.run(work())


def hold_by_models(services, models, condition):
    """Until then, by the loops of a worker whose models are this server's."""

    async def work():
        async with calls_to(models, services) as calls, at_work(services, players_of(calls)):
            await until(condition, PATIENCE_SECONDS, "the debates were held and judged")

    asyncio.run(work())


def status_is(place, *statuses):
    return lambda: place.sql("SELECT status FROM experiments") == [(status,) for status in statuses]
