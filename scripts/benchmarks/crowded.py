"""The cost of a hundred debates in flight by the number of finished debates in the table: a half of `growth`."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from app.bootstrap import build_services, close_services
from app.cli.children import Child
from app.settings import Settings
from app.usecases.services import Services
from scripts.benchmarks import filling, holding, processes, report
from scripts.benchmarks.place import another_database, another_queue, own_servers, postgres_pid, sql

SIZES = (1_000, 1_000_000)
QUICK_SIZES = (100, 1_000)
IN_FLIGHT = 100
ROUNDS = 30
VACUUMED = ("debates", "debate_titles", "turns", "indexed_turns")
"""Runs before each repeat. Autovacuum would run at different times, and its cost would count as the turns' cost."""
AIM = report.Aim(at_most=1.2)
RATE = report.Aim(at_least=0.83)

Figures = dict[tuple[str, int], list[float]]


@dataclass(frozen=True)
class _Side:
    """A database with this many finished debates, and its workers."""

    settings: Settings
    services: Services
    workers: list[Child]


def rows(sizes: tuple[int, ...], repeats: int, rounds: int = ROUNDS) -> list[report.Row]:
    found: Figures = {}
    with own_servers() as settings, ExitStack() as stack:
        sides = {size: stack.enter_context(_side(settings, size)) for size in sizes}
        for side in sides.values():
            # Statements are prepared, and what is read often is in memory.
            holding.hold(side.settings, side.services, side.workers, IN_FLIGHT, 3)
        for number in range(1, repeats + 1):
            for size, side in sides.items():
                print(f"  {number} of {repeats}: {size:,} finished debates", file=sys.stderr)
                for name, value in _measure(side, rounds).items():
                    found.setdefault((name, size), []).append(value)
    smallest = sizes[0]
    return [
        report.Row(
            f"{name}, {size:,} finished",
            values,
            found[name, smallest],
            RATE if name == "turns/s" else AIM,
            digits=0,
        )
        for (name, size), values in found.items()
        if size != smallest
    ]


@contextmanager
def _side(settings: Settings, size: int) -> Iterator[_Side]:
    own = another_queue(another_database(settings, f"finished_{size}"))
    filling.fill(own, size, filling.ENDED, days_ago=1)
    for table in VACUUMED:
        sql(own, f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    services = build_services(own, name="bench", database_connections=4)
    try:
        with holding.worker_processes(own) as workers:
            yield _Side(own, services, workers)
    finally:
        close_services(services)


def _measure(side: _Side, rounds: int) -> dict[str, float]:
    turns = IN_FLIGHT * rounds * holding.TURNS_A_ROUND
    sql(side.settings, f"VACUUM {', '.join(VACUUMED)}")
    # After one, the first change of each page is written to the log whole: both sides begin alike.
    sql(side.settings, "CHECKPOINT")
    with holding.stopped(side.workers):
        holding.queue(side.services, IN_FLIGHT, rounds)
        before = _spent(side)
        began = time.monotonic()
    holding.wait_until_ended(side.settings)
    seconds = time.monotonic() - began
    wal, postgres, workers = (late - early for late, early in zip(_spent(side), before, strict=True))
    holding.clear(side.settings, turns)
    return {
        "turns/s": turns / seconds,
        "CPU of Postgres, µs a turn": postgres / turns * 1e6,
        "CPU of the workers, µs a turn": workers / turns * 1e6,
        "WAL of a turn, bytes": wal / turns,
    }


def _spent(side: _Side) -> tuple[float, float, float]:
    """Bytes of WAL, and seconds of CPU of Postgres and of the workers."""
    [(wal,)] = sql(side.settings, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
    workers = sum(processes.cpu_seconds(worker.process.pid) for worker in side.workers)
    return wal, processes.cpu_seconds(postgres_pid(side.settings)), workers
