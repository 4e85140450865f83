"""Debates between scripted players, held by two worker processes, and the clock from all queued to all ended."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg

from app.cli.children import WORKER_COMMAND, Child, end
from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.formats import Format
from app.core.players import SCRIPTED, SeatSetup
from app.core.seats import Seat
from app.settings import Settings
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from scripts.benchmarks import arguing
from scripts.benchmarks.place import sql

PROCESSES = 2
TURNS_A_ROUND = 3


@contextmanager
def worker_processes(settings: Settings) -> Iterator[list[Child]]:
    logs = [settings.data_dir / f"worker-{number}.log" for number in range(PROCESSES)]
    workers = [Child(log.stem, WORKER_COMMAND, settings, log) for log in logs]
    try:
        while sql(settings, "SELECT count(*) FROM worker_leases")[0][0] < PROCESSES:
            for worker in workers:
                worker.check()
            time.sleep(0.1)
        yield workers
    finally:
        end(workers)


def create(services: Services, count: int, rounds: int, think_seconds: float | None = None) -> list[UUID]:
    """Debates that nobody has been told of. Workers that run would find them all the same."""
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
            format=Format.ROUNDS,
            seats=seats,
            limits=Limits(max_rounds=rounds),
        )
        made.append(create_debate(arguing.untold(services), OPERATOR, new).debate.id)
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
        for debate_id in create(services, count, rounds, think_seconds):
            services.tasks.send(debate_id)
        began = time.monotonic()
    with psycopg.connect(str(settings.database_url), autocommit=True) as connection:
        while connection.execute("SELECT 1 FROM debates WHERE status <> 'completed' LIMIT 1").fetchone():
            time.sleep(0.02)
        seconds = time.monotonic() - began
    clear(settings, turns=count * rounds * TURNS_A_ROUND)
    return seconds


@contextmanager
def stopped(workers: list[Child]) -> Iterator[None]:
    """Meanwhile no worker does anything."""
    for worker in workers:
        worker.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            worker.process.send_signal(signal.SIGCONT)


def clear(settings: Settings, turns: int) -> None:
    """Looks whether there are as many turns as there should be besides the motions, and begins anew."""
    found = sql(settings, "SELECT count(*) FROM turns WHERE seq > 1")[0][0]
    assert found == turns, f"{found} turns instead of {turns}"
    sql(settings, "DELETE FROM debates")
