"""How long a stop takes while the player thinks, beside a plain GET of the same debate."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPConnection
from pathlib import Path
from uuid import UUID

from app.bootstrap import build_services, close_services
from app.cli.children import API_COMMAND, Child, end
from app.cli.stack import free_port
from app.settings import Settings
from app.usecases.services import Services
from scripts.benchmarks import holding, report
from scripts.benchmarks.place import own_servers, sql

THINK_SECONDS = 30.0
LET_GO_SECONDS = 20.0
"""Longer than any worker should need to notice a stop; the run fails when one takes longer."""
WARM_UP = 20
AIM = report.Aim(at_most=3)


@dataclass
class Found:
    """Milliseconds, of each debate."""

    get: list[float]
    stop: list[float]
    let_go: list[float]
    """From the stop's answer until the worker's thread was free."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debates", type=int, default=200, help="that are thought about at once")
    parser.add_argument("--repeats", type=int, default=3)


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.debates, options.repeats = 10, 1
    threads = -(-options.debates // holding.PROCESSES)
    with own_servers(worker_concurrency=threads, server_port=free_port("127.0.0.1")) as settings:
        services = build_services(settings, name="bench", database_connections=4)
        try:
            with holding.worker_processes(settings), _api(settings) as api:
                found = [_measure(settings, services, api, options.debates) for _ in range(options.repeats)]
        finally:
            close_services(services)
    _report(options, found)


@contextmanager
def _api(settings: Settings) -> Iterator[HTTPConnection]:
    """The real server, and one connection to it that is kept: as little as can be beside what is measured."""
    server = Child("API", API_COMMAND, settings, settings.data_dir / "api.log")
    connection = HTTPConnection("127.0.0.1", settings.server_port, timeout=60)
    try:
        while True:
            server.check()
            try:
                _timed(connection, "GET", "/health")
                break
            except OSError:
                connection.close()
                time.sleep(0.1)
        yield connection
    finally:
        connection.close()
        end([server])


def _timed(api: HTTPConnection, method: str, path: str) -> float:
    """Milliseconds until the whole answer was there."""
    began = time.perf_counter()
    api.request(method, path, headers={"Content-Type": "application/json"}, body="{}" if method == "POST" else None)
    answer = api.getresponse()
    answer.read()
    assert answer.status == 200, f"{method} {path}: {answer.status}"
    return (time.perf_counter() - began) * 1000


def _measure(settings: Settings, services: Services, api: HTTPConnection, count: int) -> Found:
    debate_ids = holding.create(services, count, rounds=1, think_seconds=THINK_SECONDS)
    for debate_id in debate_ids:
        services.tasks.send(debate_id)
    while sql(settings, "SELECT count(*) FROM debates WHERE claim_token IS NOT NULL")[0][0] < count:
        time.sleep(0.1)
    for _ in range(WARM_UP):
        _timed(api, "GET", f"/debates/{debate_ids[0]}")
    found = Found([], [], [])
    answered = {}
    for debate_id in debate_ids:
        # Side by side, so that whatever else the machine does falls on both.
        found.get.append(_timed(api, "GET", f"/debates/{debate_id}"))
        found.stop.append(_timed(api, "POST", f"/debates/{debate_id}/stop"))
        answered[debate_id] = time.time()
    found.let_go = _let_go(settings.data_dir, answered)
    holding.clear(settings, turns=0)
    print(f"  {count} stopped while their players were thinking", file=sys.stderr)
    return found


def _let_go(logs: Path, answered: dict[UUID, float]) -> list[float]:
    """When each turn was given up, from the workers' logs."""
    deadline = time.monotonic() + LET_GO_SECONDS
    while True:
        at = {}
        for log in logs.glob("worker-*.log"):
            for line in log.read_text().splitlines():
                said = json.loads(line) if line.startswith("{") else {}
                if said.get("event") == "turn.cancelled":
                    at[UUID(said["debate_id"])] = datetime.fromisoformat(said["timestamp"]).timestamp()
        if answered.keys() <= at.keys():
            return [max(0.0, at[debate_id] - moment) * 1000 for debate_id, moment in answered.items()]
        assert time.monotonic() < deadline, f"{len(answered.keys() - at.keys())} are still thought about"
        time.sleep(0.2)


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
