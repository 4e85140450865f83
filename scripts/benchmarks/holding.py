"""Runs debates between scripted players on worker processes, and measures the time from all queued to all ended."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

import psycopg

from app.cli.children import WORKER_COMMAND, Child, end
from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.players import SCRIPTED, SeatSetup
from app.core.schedules import ROUNDS
from app.core.seats import Seat
from app.settings import Settings
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from scripts.benchmarks import arguing
from scripts.benchmarks.place import sql

PROCESSES = 2
TURNS_A_ROUND = 3
LET_GO_SECONDS = 20.0
"""The maximum time in which a worker should notice a stop; the run fails after it."""
LOOK_EVERY_SECONDS = 0.01
"""Between checks whether all debates have ended. The measured time is too long by up to this and one check."""
_NEW_TURNS = "SELECT count(*) FROM turns WHERE seq > 1 AND created_at > clock_timestamp() - interval '1 day'"
_DELETE_NEW = "DELETE FROM debates WHERE created_at > clock_timestamp() - interval '1 day'"


@contextmanager
def worker_processes(settings: Settings, count: int = PROCESSES) -> Iterator[list[Child]]:
    logs = [settings.data_dir / f"worker-{number}.log" for number in range(count)]
    workers = [Child(log.stem, WORKER_COMMAND, settings, log) for log in logs]
    try:
        while sql(settings, "SELECT count(*) FROM worker_leases")[0][0] < count:
            for worker in workers:
                worker.check()
            time.sleep(0.1)
        yield workers
    finally:
        end(workers)


def create(services: Services, count: int, rounds: int, think_seconds: float | None = None) -> list[UUID]:
    """Creates debates without a task. Running workers would still find them."""
    started = time.time_ns()
    seats = {seat: SeatSetup(SCRIPTED, think_seconds=think_seconds) for seat in Seat}
    motion = "Cities should ban cars"
    made = []
    for number in range(count):
        new = NewDebate(
            "Bench",
            "general_debate",
            motion,
            f"{started}-{number}",
            schedule=ROUNDS,
            seats=seats,
            limits=Limits(max_rounds=rounds),
        )
        made.append(create_debate(arguing.untold(services), OPERATOR, new).debate.id)
    return made


def queue(services: Services, count: int, rounds: int, think_seconds: float | None = None) -> list[UUID]:
    made = create(services, count, rounds, think_seconds)
    for debate_id in made:
        services.tasks.send(debate_id)
    return made


def hold(
    settings: Settings,
    services: Services,
    workers: list[Child],
    count: int,
    rounds: int,
    think_seconds: float | None = None,
) -> float:
    """Seconds. The clock starts when all debates are queued: creating and queueing them is the API's work."""
    with stopped(workers):
        queue(services, count, rounds, think_seconds)
        began = time.monotonic()
    # No debate can end before this: checking earlier would only take CPU from what is measured.
    time.sleep(rounds * TURNS_A_ROUND * (think_seconds or 0))
    wait_until_ended(settings)
    seconds = time.monotonic() - began
    clear(settings, turns=count * rounds * TURNS_A_ROUND)
    return seconds


def wait_until_ended(settings: Settings) -> None:
    # Named one by one, so that an index finds them among a million others.
    under_way = "SELECT 1 FROM debates WHERE status IN ('created', 'running') LIMIT 1"
    with psycopg.connect(str(settings.database_url), autocommit=True) as connection:
        while connection.execute(under_way).fetchone():
            time.sleep(LOOK_EVERY_SECONDS)


@contextmanager
def stopped(workers: list[Child]) -> Iterator[None]:
    """Freezes the workers in this context."""
    for worker in workers:
        worker.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            worker.process.send_signal(signal.SIGCONT)


def cancelled_after(settings: Settings, answered: dict[UUID, float]) -> list[float]:
    """Milliseconds from each stop's answer until its call was cancelled, from the workers' logs."""
    deadline = time.monotonic() + LET_GO_SECONDS
    while True:
        at = {}
        for log in settings.data_dir.glob("worker-*.log"):
            for line in log.read_text().splitlines():
                if '"turn.cancelled"' in line:
                    said = json.loads(line)
                    at[UUID(said["debate_id"])] = datetime.fromisoformat(said["timestamp"]).timestamp()
        if answered.keys() <= at.keys():
            return [max(0.0, at[debate_id] - moment) * 1000 for debate_id, moment in answered.items()]
        assert time.monotonic() < deadline, f"{len(answered.keys() - at.keys())} are still thought about"
        time.sleep(0.2)


def clear(settings: Settings, turns: int) -> None:
    """Looks whether there are as many turns as there should be besides the motions, and begins anew. What is older than
    a day a part has filled in, and stays."""
    found = sql(settings, _NEW_TURNS)[0][0]
    assert found == turns, f"{found} turns instead of {turns}"
    sql(settings, _DELETE_NEW)
