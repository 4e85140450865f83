"""The latency of a stop while the player thinks, compared with a GET of the same debate."""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from http.client import HTTPConnection

from app.bootstrap import build_services, close_services
from app.cli.stack import free_port
from app.settings import Settings
from app.usecases.services import Services
from scripts.benchmarks import holding, report, serving
from scripts.benchmarks.place import own_servers, sql

THINK_SECONDS = 30.0
WARM_UP = 40
"""More that are read and stopped before the others: on each of its connections the API plans a statement ten times
before it keeps the plan."""
AIM = report.Aim(at_most=3)


@dataclass
class Found:
    """Milliseconds, of each debate."""

    get: list[float]
    stop: list[float]
    let_go: list[float]
    """From the stop's answer until the worker had cancelled the call."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debates", type=int, default=200, help="in flight")
    parser.add_argument("--repeats", type=int, default=3)


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.debates, options.repeats = 10, 1
    threads = -(-(WARM_UP + options.debates) // holding.PROCESSES)
    with own_servers(worker_concurrency=threads, server_port=free_port("127.0.0.1")) as settings:
        services = build_services(settings, name="bench", database_connections=4)
        try:
            with holding.worker_processes(settings), serving.api(settings) as (_, api):
                found = [_measure(settings, services, api, options.debates) for _ in range(options.repeats)]
        finally:
            close_services(services)
    _report(options, found)


def _measure(settings: Settings, services: Services, api: HTTPConnection, count: int) -> Found:
    debate_ids = holding.queue(services, WARM_UP + count, rounds=1, think_seconds=THINK_SECONDS)
    while sql(settings, "SELECT count(*) FROM debates WHERE claim_token IS NOT NULL")[0][0] < WARM_UP + count:
        time.sleep(0.1)
    for debate_id in debate_ids[:WARM_UP]:
        serving.timed(api, "GET", f"/debates/{debate_id}")
        serving.timed(api, "POST", f"/debates/{debate_id}/stop")
    found = Found([], [], [])
    answered = {}
    for debate_id in debate_ids[WARM_UP:]:
        # Side by side, so that whatever else the machine does falls on both.
        found.get.append(serving.timed(api, "GET", f"/debates/{debate_id}"))
        found.stop.append(serving.timed(api, "POST", f"/debates/{debate_id}/stop"))
        answered[debate_id] = time.time()
    found.let_go = holding.cancelled_after(settings, answered)
    holding.clear(settings, turns=0)
    print(f"  {count} stopped while their players generated", file=sys.stderr)
    return found


def _report(options: argparse.Namespace, found: list[Found]) -> None:
    work = f"{options.debates} debates whose players think for {THINK_SECONDS:g} s, one request at a time"
    report.head("stop", work, options.repeats)
    rows = []
    for name, centile, aim in (("p50, ms", 49, None), ("p99, ms", 98, AIM)):
        gets = [statistics.quantiles(one.get, n=100)[centile] for one in found]
        stops = [statistics.quantiles(one.stop, n=100)[centile] for one in found]
        rows.append(report.Row(name, stops, gets, aim, digits=2))
    rows.append(report.Row("the worker lets go after, p50, ms", [statistics.median(one.let_go) for one in found]))
    rows.append(report.Row("the worker lets go after, at most, ms", [max(one.let_go) for one in found]))
    report.table(rows, "GET", "stop")
    report.save_rows("stop", rows, debates=options.debates)
