"""Experiments in the process of a test: made, started, and held by real loops of a worker."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from claimed_debates import until
from worker_loop import PATIENCE_SECONDS, live_lease, with_settings

from app.core.access import OPERATOR
from app.core.experiments.motions import motion_of
from app.usecases.experiments import manage
from worker.feeder import Feeder
from worker.judging import Judging
from worker.players.registry import player_for
from worker.runner import Runner


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


def made(services, count=3, **changes):
    """An experiment that was given its motions and started."""
    experiment, _ = manage.draft(services, OPERATOR, a_spec(**changes))
    manage.add_motions(services, OPERATOR, experiment.id, motions(count))
    return manage.start(services, OPERATOR, experiment.id).id


@asynccontextmanager
async def at_work(services, find_player=player_for, name="worker"):
    """A worker's loops: they debate, judge and feed."""
    executor = ThreadPoolExecutor(6, "statements")

    def lost():
        runner.end_all_claims()
        judging.end_all_claims()

    async with live_lease(with_settings(services), lost, name) as lease:
        judging = Judging(services, lease, executor, find_player)
        feeder = Feeder(services, lease, executor, judging.hint)
        runner = Runner(services, lease, executor, find_player, feeder.hint)
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


def status_is(place, *statuses):
    return lambda: place.sql("SELECT status FROM experiments") == [(status,) for status in statuses]
