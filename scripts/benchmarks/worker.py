"""One worker process with thousands of waiting debates: their cost, and the delay of other debates.

Row updates, CPU, threads, memory and connections while they think; how soon a stop ends a call; and how soon a new
debate starts, and how fast it runs, with a thousand that hang and a thousand with turns of an hour.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from uuid import UUID

from app.bootstrap import build_services, close_services
from app.cli.children import WORKER_COMMAND, Child
from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.players import SCRIPTED, SeatSetup
from app.core.schedules import ROUNDS
from app.core.seats import Seat
from app.settings import Settings
from app.usecases.control import stop_debate
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from scripts.benchmarks import processes, report
from scripts.benchmarks.place import own_servers, postgres_pid, sql
from scripts.benchmarks.silent_provider import silent_provider

PATIENCE_SECONDS = 300.0
SETTLE_SECONDS = 15.0
"""Longer than an idle backend keeps its counts of row updates to itself."""
WATCH_SECONDS = 10.0
THINK_SECONDS = 30.0
HOUR = 3_600.0
STOPS = 20
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, 'debate-worker:')"
_THINKING = "SELECT count(*) FROM debates WHERE claim_token IS NOT NULL"
_UPDATES = "SELECT sum(n_tup_upd + n_tup_ins + n_tup_del)::bigint FROM pg_stat_user_tables"
AIMS = {
    "row updates a second while they think": report.Aim(at_most=20),
    "CPU of Postgres and the worker, cores": report.Aim(at_most=0.1),
    "threads of the worker": report.Aim(at_most=40),
    "RSS of the worker, MB": report.Aim(at_most=400),
    "a stop ends its call, median s": report.Aim(at_most=0.5),
    "beside slow ones a debate starts after, s": report.Aim(at_most=1),
}

Figures = dict[str, list[float]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debates", type=int, default=5_000, help="concurrent debates")
    parser.add_argument("--slow", type=int, default=1_000, help="debates that hang, and as many with turns of an hour")
    parser.add_argument("--repeats", type=int, default=2)


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.debates, options.slow, options.repeats = 60, 20, 1
    found: Figures = {}
    for number in range(1, options.repeats + 1):
        print(f"  {number} of {options.repeats}", file=sys.stderr)
        for part in (_thinking, _beside_slow_ones):
            for name, value in part(options).items():
                found.setdefault(name, []).append(value)
    report.head(
        "worker", f"one worker process, {options.debates:,} debates with turns of {THINK_SECONDS:g} s", options.repeats
    )
    rows = [report.Row(name, values, aim=AIMS.get(name), digits=3) for name, values in found.items()]
    report.table(rows, "", "debate-runner")
    report.save_rows("worker", rows, debates=options.debates, slow=options.slow)


def _thinking(options: argparse.Namespace) -> dict[str, float]:
    with own_servers(worker_concurrency=options.debates) as settings:
        services = build_services(settings, name="bench", database_connections=4)
        worker = Child("worker", WORKER_COMMAND, settings, log=settings.data_dir / "worker.log")
        try:
            _wait(settings, "SELECT count(*) FROM worker_leases", 1)
            made = [_create(services, number, HOUR) for number in range(options.debates)]
            _wait(settings, _THINKING, options.debates)
            found = _cost_of_waiting(settings, worker.process.pid)
            return {**found, "a stop ends its call, median s": _stop_seconds(settings, services, made[:STOPS])}
        finally:
            # After SIGTERM, it would wait for the thinkers first.
            worker.process.kill()
            worker.process.wait()
            close_services(services)


def _cost_of_waiting(settings: Settings, pid: int) -> dict[str, float]:
    time.sleep(SETTLE_SECONDS)
    postgres = postgres_pid(settings)
    updates, cpu, began = _updates(settings), _cpu(postgres, pid), time.monotonic()
    time.sleep(WATCH_SECONDS)
    seconds = time.monotonic() - began
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in status if ":" in line)
    return {
        "row updates a second while they think": (_updates(settings) - updates) / seconds,
        "CPU of Postgres and the worker, cores": (_cpu(postgres, pid) - cpu) / seconds,
        "threads of the worker": float(fields["Threads"]),
        "RSS of the worker, MB": float(fields["VmRSS"].split()[0]) / 1000,
        "connections of the worker": float(sql(settings, _CONNECTIONS)[0][0]),
    }


def _stop_seconds(settings: Settings, services: Services, debate_ids: list[UUID]) -> float:
    """From the stop's answer until the worker logs that it has cancelled the call."""
    log = settings.data_dir / "worker.log"
    seconds = []
    for debate_id in debate_ids:
        stop_debate(services, OPERATOR, debate_id, None)
        began = time.monotonic()
        while f'"debate_id":"{debate_id}"' not in _cancelled(log):
            assert time.monotonic() - began < 60, "the call was not cancelled"
            time.sleep(0.005)
        seconds.append(time.monotonic() - began)
    return statistics.median(seconds)


def _cancelled(log: Path) -> str:
    return "\n".join(line for line in log.read_text().splitlines()[-200:] if "turn.cancelled" in line)


def _beside_slow_ones(options: argparse.Namespace) -> dict[str, float]:
    """A silent provider and players that think for an hour; then one debate of players without think time."""
    with silent_provider() as base_url, own_servers() as settings:
        services = build_services(settings, name="bench", database_connections=4)
        # A child inherits them.
        os.environ.update(OPENAI_BASE_URL=base_url, OPENAI_API_KEY="none")
        worker = Child("worker", WORKER_COMMAND, settings, log=settings.data_dir / "worker.log")
        try:
            _wait(settings, "SELECT count(*) FROM worker_leases", 1)
            alone = _run_seconds(settings, _create(services, -1, None))[1]
            for number in range(options.slow):
                _create(services, number, None, "openai:gpt-5-mini")
                _create(services, options.slow + number, HOUR)
            _wait(settings, _THINKING, 2 * options.slow)
            starts, runs = _run_seconds(settings, _create(services, -2, None))
            return {
                "beside slow ones a debate starts after, s": starts,
                "and takes, beside its time alone": runs / alone,
            }
        finally:
            worker.process.kill()
            worker.process.wait()
            close_services(services)


def _run_seconds(settings: Settings, debate_id: UUID) -> tuple[float, float]:
    """Until its first turn, and until its end."""
    began = time.monotonic()
    _wait(settings, "SELECT turn_count FROM debates WHERE id = %s", 2, debate_id)
    started = time.monotonic() - began
    _wait(settings, "SELECT count(*) FROM debates WHERE id = %s AND status = 'completed'", 1, debate_id)
    return started, time.monotonic() - began


def _create(services: Services, number: int, think_seconds: float | None, player: str = SCRIPTED) -> UUID:
    seats = {seat: SeatSetup(player, think_seconds=think_seconds) for seat in Seat}
    new = NewDebate(
        "Bench",
        "general_debate",
        "Cities should ban cars",
        f"{time.time_ns()}-{number}",
        schedule=ROUNDS,
        seats=seats,
        limits=Limits(max_rounds=10),
    )
    return create_debate(services, OPERATOR, new).debate.id


def _wait(settings: Settings, question: str, count: int, *parameters: object) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (sql(settings, question, *parameters)[0][0] or 0) < count:
        assert time.monotonic() < deadline, f"not within {PATIENCE_SECONDS:g} s: {question} is {count}"
        time.sleep(0.01)


def _updates(settings: Settings) -> int:
    return int(sql(settings, _UPDATES)[0][0])


def _cpu(*pids: int) -> float:
    return sum(processes.cpu_seconds(pid) for pid in pids)
