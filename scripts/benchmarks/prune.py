"""The delay of turns of 500 running debates during `debate prune`, compared with no prune."""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass

from app.bootstrap import build_services, close_services
from app.settings import Settings, child_environment
from scripts.benchmarks import filling, holding, report
from scripts.benchmarks.place import own_servers, sql

PRUNE = [sys.executable, "-m", "app.cli", "prune", "--older-than", "90d", "--yes", "--json"]
DAYS_AGO = 100
ROUNDS = 10_000
"""More than can run: the benchmark ends first."""
WITHOUT_SECONDS = 30.0
LATE = report.Aim(at_most=1)
# Of the turns between two moments: how long after the turn before it each was stored.
_GAPS = """
SELECT count(*), coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY seconds), 0), coalesce(max(seconds), 0) FROM (
    SELECT created_at, extract(epoch FROM created_at - lag(created_at) OVER (PARTITION BY debate_id ORDER BY seq))
           ::double precision AS seconds
    FROM turns WHERE created_at > clock_timestamp() - interval '1 day' AND seq > 1
) AS stored
WHERE created_at BETWEEN %s AND %s
"""


@dataclass(frozen=True)
class Phase:
    seconds: float
    turns: int
    p99: float
    longest: float


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debates", type=int, default=100_000, help="old debates to delete")
    parser.add_argument("--running", type=int, default=500, help="debates that run meanwhile")
    parser.add_argument("--think", type=float, default=2.0, help="seconds of each of their turns")


def run(options: argparse.Namespace) -> None:
    without_seconds = WITHOUT_SECONDS
    if options.quick:
        options.debates, options.running, options.think, without_seconds = 1_000, 20, 0.2, 2.0
    with own_servers(worker_concurrency=max(1, options.running)) as settings:
        filling.fill(settings, options.debates, filling.ENDED, DAYS_AGO)
        services = build_services(settings, name="bench", database_connections=4)
        try:
            with holding.worker_processes(settings):
                holding.queue(services, options.running, ROUNDS, options.think)
                without, during = _measure(settings, options, without_seconds)
        finally:
            close_services(services)
    _report(options, without, during)


def _measure(settings: Settings, options: argparse.Namespace, without_seconds: float) -> tuple[Phase, Phase]:
    under_way = "SELECT count(*) FROM debates WHERE status = 'running' AND turn_count > 2"
    while sql(settings, under_way)[0][0] < options.running:
        time.sleep(0.1)
    began = sql(settings, "SELECT clock_timestamp()")[0][0]
    time.sleep(without_seconds)
    begun = sql(settings, "SELECT clock_timestamp()")[0][0]
    told = subprocess.run(PRUNE, env=child_environment(settings), stdout=subprocess.PIPE, check=True)
    ended = sql(settings, "SELECT clock_timestamp()")[0][0]
    deleted = json.loads(told.stdout)["deleted"]["debates"]
    assert deleted == options.debates, f"{deleted} deleted instead of {options.debates}"
    # A turn that is late because of it may be stored after its end.
    time.sleep(options.think + 1)
    now = sql(settings, "SELECT clock_timestamp()")[0][0]
    without, during = ([*sql(settings, _GAPS, *moments)[0]] for moments in ((began, begun), (begun, now)))
    return Phase((begun - began).total_seconds(), *without), Phase((ended - begun).total_seconds(), *during)


def _report(options: argparse.Namespace, without: Phase, during: Phase) -> None:
    work = f"{options.debates:,} old debates go while {options.running:,} run, with turns of {options.think:g} s"
    report.head("prune", work, 1)
    rows = [
        report.Row("between two turns of a debate, p99, s", [during.p99], [without.p99], digits=3),
        report.Row("between two turns of a debate, at most, s", [during.longest], [without.longest], digits=3),
        report.Row("a turn is late by at most, s", [during.longest - options.think], aim=LATE, digits=3),
        report.Row("debates deleted a second", [options.debates / during.seconds], digits=0),
        report.Row("rows deleted a second", [options.debates * filling.ROWS / during.seconds], digits=0),
        report.Row("seconds until all are deleted", [during.seconds]),
    ]
    report.table(rows, "without", "while it prunes")
    report.save_rows("prune", rows, debates=options.debates, running=options.running, think=options.think)
