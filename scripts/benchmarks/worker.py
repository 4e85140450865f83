"""Memory and database connections of one worker process while many debates think, beside the same worker idle."""

import argparse
import sys
import time
from pathlib import Path

from app.bootstrap import build_services, close_services
from app.cli.children import WORKER_COMMAND, Child, end
from app.core.access import OPERATOR
from app.core.formats import Format
from app.core.players import SCRIPTED, SeatSetup
from app.core.seats import Seat
from app.settings import Settings
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from scripts.benchmarks import processes, report
from scripts.benchmarks.place import own_servers, sql

COUNTS = (100, 500)
QUICK_COUNTS = (10, 50)
PATIENCE_SECONDS = 120.0
SETTLE_SECONDS = 2.0
THINK_SECONDS = 600.0
"""Longer than it takes to look."""
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, 'debate-worker:')"
_THINKING = "SELECT count(*) FROM debates WHERE claim_expires_at > now()"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debates", type=int, nargs="+", default=COUNTS, help="in flight at once")
    parser.add_argument("--repeats", type=int, default=3)


def run(options: argparse.Namespace) -> None:
    counts, repeats = (QUICK_COUNTS, 1) if options.quick else (tuple(options.debates), options.repeats)
    found: dict[tuple[str, int], list[float]] = {}
    with own_servers(worker_concurrency=max(counts)) as settings:
        services = build_services(settings, name="bench", database_connections=4)
        try:
            for number in range(1, repeats + 1):
                print(f"  {number} of {repeats}", file=sys.stderr)
                for (name, count), value in _one(settings, services, counts).items():
                    found.setdefault((name, count), []).append(value)
        finally:
            close_services(services)
    _report(found, counts, repeats)


def _one(settings: Settings, services: Services, counts: tuple[int, ...]) -> dict[tuple[str, int], float]:
    """A worker of its own for each repeat: memory that earlier debates left behind would hide what these take."""
    worker = Child("worker", WORKER_COMMAND, settings, log=settings.data_dir / "worker.log")
    found: dict[tuple[str, int], float] = {}
    try:
        _wait(settings, "SELECT count(*) FROM workers", 1)
        made = 0
        for count in (0, *counts):
            _create(services, count - made)
            made = count
            most = _wait(settings, _THINKING, count)
            time.sleep(SETTLE_SECONDS)
            found["RSS, MB", count] = _rss_bytes(worker.process.pid) / 1e6
            found["PSS, MB", count] = processes.memory_bytes(worker.process.pid) / 1e6
            found["connections to Postgres", count] = max(most, sql(settings, _CONNECTIONS)[0][0])
    finally:
        end([worker])
    sql(settings, "DELETE FROM debates")
    sql(settings, "DELETE FROM workers")
    return found


def _create(services: Services, count: int) -> None:
    seats = {seat: SeatSetup(SCRIPTED, think_seconds=THINK_SECONDS) for seat in Seat}
    started = time.time_ns()
    for number in range(count):
        motion = "Cities should ban cars"
        new = NewDebate("Bench", "general_debate", motion, f"{started}-{number}", format=Format.ROUNDS, seats=seats)
        create_debate(services, OPERATOR, new)


def _wait(settings: Settings, question: str, count: int) -> int:
    """Until the answer is this; the most connections that the worker had meanwhile."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    most = 0
    while sql(settings, question)[0][0] < count:
        assert time.monotonic() < deadline, f"not within {PATIENCE_SECONDS:g} s: {question} is {count}"
        most = max(most, sql(settings, _CONNECTIONS)[0][0])
        time.sleep(0.05)
    return most


def _rss_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def _report(found: dict[tuple[str, int], list[float]], counts: tuple[int, ...], repeats: int) -> None:
    rows = [
        report.Row(f"{name}, {count} debates think", values, found[name, 0])
        for (name, count), values in found.items()
        if count
    ]
    report.head("worker", f"one process with DEBATE_WORKER_CONCURRENCY={max(counts)}, beside itself idle", repeats)
    report.table(rows, "idle", "thinking")
    report.save_rows("worker", rows, concurrency=max(counts))
