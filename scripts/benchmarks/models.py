"""Calls per second of many concurrent debates to a model that takes a second, within a provider's limit."""

import argparse
import os
import statistics
import time

import psycopg

from app.bootstrap import build_services, close_services
from app.cli.children import WORKER_COMMAND, Child, end
from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.players import SeatSetup
from app.core.schedules import ROUNDS
from app.core.seats import Seat
from app.settings import Settings
from app.usecases.create import NewDebate, create_debate
from scripts.benchmarks import report
from scripts.benchmarks.place import own_servers
from tests.model_server import ModelServer

PROCESSES = 2
PLAYER = "openai:gpt-4o-mini"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debates", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2, help="rounds of three calls each")
    parser.add_argument("--limit", type=int, default=50, help="maximum of concurrent calls of all workers")
    parser.add_argument("--seconds", type=float, default=1.0, help="duration of each call")
    parser.add_argument("--repeats", type=int, default=3)


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.debates, options.rounds, options.limit, options.seconds, options.repeats = 20, 1, 10, 0.1, 1
    with own_servers(model_concurrency=options.limit) as settings, ModelServer() as models:
        os.environ.update(models.environment)
        _measure(settings, models, options)


def _measure(settings: Settings, models: ModelServer, options: argparse.Namespace) -> None:
    workers = [Child(f"worker {number}", WORKER_COMMAND, settings, log=None) for number in range(PROCESSES)]
    try:
        # Clients are imported and connections made before anything is timed.
        _hold(settings, options.debates // 10, rounds=1)
        models.seconds = options.seconds
        rates = []
        for _ in range(options.repeats):
            models.calls.clear()
            models.most_at_once = 0
            _hold(settings, options.debates, options.rounds)
            rates.append(_rate(models))
            assert models.most_at_once <= options.limit, f"{models.most_at_once} calls at once"
            print(f"  {rates[-1]:.1f} calls a second, at most {models.most_at_once} concurrent", flush=True)
    finally:
        end(workers)
    ideal = options.limit / options.seconds
    print(f"\nmodels: {options.debates} debates x {3 * options.rounds} calls of {options.seconds:g} s, ", end="")
    print(f"{PROCESSES} worker processes, at most {options.limit} concurrent calls")
    print(f"machine: {report.machine()}; {options.repeats} repeats, median (lowest to highest)\n")
    print(f"calls per second {report.spread(rates)}")
    print(f"ratio to the ideal of {ideal:g}: {statistics.median(rates) / ideal:.2f}\n")
    report.save("models", {"calls_per_second": rates, "ideal": ideal, "debates": options.debates})


def _hold(settings: Settings, count: int, rounds: int) -> None:
    services = build_services(settings, name="bench", database_connections=4)
    started = time.time_ns()
    seats = {seat: SeatSetup(PLAYER) for seat in Seat}
    for number in range(count):
        motion = "Cities should ban cars"
        limits = Limits(max_rounds=rounds)
        new = NewDebate("Bench", "general_debate", motion, f"{started}-{number}", None, ROUNDS, seats, limits)
        create_debate(services, OPERATOR, new)
    close_services(services)
    with psycopg.connect(str(settings.database_url), autocommit=True) as connection:
        open_debates = "SELECT 1 FROM debates WHERE status NOT IN ('completed', 'failed') LIMIT 1"
        while connection.execute(open_debates).fetchone():
            time.sleep(0.05)
        row = connection.execute("SELECT count(*) FROM turns").fetchone()
        assert row is not None
        assert row[0] == count * (3 * rounds + 1), f"{row[0]} turns"
        connection.execute("DELETE FROM debates")


def _rate(models: ModelServer) -> float:
    """From the first call to the end of the last: the way up and the way down are in it."""
    ended = [call.ended_at for call in models.calls if call.ended_at is not None]
    return len(models.calls) / (max(ended) - min(call.began_at for call in models.calls))
