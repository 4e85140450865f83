"""Turns per second without think time, compared with a bare psycopg loop, DBOS and LangGraph on the same Postgres."""

import argparse
import statistics
import sys

from app.bootstrap import build_services, close_services
from app.cli.children import Child
from app.settings import Settings
from app.usecases.services import Services
from scripts.benchmarks import bare_loop, holding, processes, report
from scripts.benchmarks.peers import beside
from scripts.benchmarks.place import own_servers, postgres_pid

ROUNDS = 3
TURNS = ROUNDS * holding.TURNS_A_ROUND
OURS = "debate-runner"
BARE = "bare psycopg loop"
CONTENT = "Each side has to say why its reasons outweigh the other's, and what would change its mind. " * 6
AIMS = {
    BARE: report.Aim(at_least=2),
    "DBOS": report.Aim(at_least=7),
    "DBOS, coroutines": report.Aim(at_least=7),
    "LangGraph": report.Aim(at_least=4.5),
}

Rates = dict[str, dict[int, list[float]]]
"""Turns per second of each repeat, by system and by its number of threads or concurrent debates."""
Costs = dict[str, list[float]]
"""Microseconds of CPU per turn in each repeat, by system."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debates", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 16], help="of each bare process; best counts")
    parser.add_argument("--peers", action="store_true", help="also DBOS and LangGraph; installs them on first use")
    at_once = "concurrent debates in each process of a peer; best counts"
    parser.add_argument("--at-once", type=int, nargs="+", default=[4, 16], help=at_once)


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.debates, options.repeats, options.threads, options.at_once = 10, 1, [1], [4]
    with own_servers() as settings:
        services = build_services(settings, name="bench", database_connections=4)
        try:
            with holding.worker_processes(settings) as workers:
                ours, costs, others = _measure(settings, services, workers, options)
        finally:
            close_services(services)
    _report(options, ours, costs, others)


def _measure(
    settings: Settings, services: Services, workers: list[Child], options: argparse.Namespace
) -> tuple[list[float], Costs, Rates]:
    """Our turns per second, the cost of each turn, and the others' turns per second."""
    others: Rates = {BARE: {threads: [] for threads in options.threads}}
    urls: dict[str, str] = {}
    if options.peers:
        urls = beside.make_databases(str(settings.database_url))
        others.update({peer: {at_once: [] for at_once in options.at_once} for peer in urls})
    ours: list[float] = []
    pids = {"the workers": [worker.process.pid for worker in workers], "Postgres": [postgres_pid(settings)]}
    costs: Costs = {whose: [] for whose in pids}
    turns = options.debates * TURNS
    # Before the clock statements are prepared and connections made.
    holding.hold(settings, services, workers, options.debates, ROUNDS)
    # Taken in turn, so that whatever else the machine does falls on all.
    for number in range(1, options.repeats + 1):
        print(f"  {number} of {options.repeats}", file=sys.stderr)
        for threads, rates in others[BARE].items():
            with holding.stopped(workers):
                debate_ids = holding.create(services, options.debates, ROUNDS)
                rates.append(turns / bare_loop.hold(settings, debate_ids, threads, CONTENT))
                holding.clear(settings, turns)
        for peer, url in urls.items():
            for at_once, rates in others[peer].items():
                work = beside.Share(options.debates, TURNS, CONTENT, holding.PROCESSES, at_once)
                rates.append(turns / beside.hold(peer, url, work))
        before = {whose: _cpu_seconds(pids[whose]) for whose in pids}
        ours.append(turns / holding.hold(settings, services, workers, options.debates, ROUNDS))
        for whose, costed in costs.items():
            costed.append((_cpu_seconds(pids[whose]) - before[whose]) / turns * 1e6)
    return ours, costs, others


def _cpu_seconds(pids: list[int]) -> float:
    return sum(processes.cpu_seconds(pid) for pid in pids)


def _report(options: argparse.Namespace, ours: list[float], costs: Costs, others: Rates) -> None:
    work = f"{options.debates} debates x {TURNS} turns, no think time, {holding.PROCESSES} processes each"
    report.head("engine", work, options.repeats)
    rows = []
    for name, by_count in others.items():
        best = max(by_count, key=lambda count: statistics.median(by_count[count]))
        rows.append(report.Row(f"turns/s beside {name}, {best} at once", ours, by_count[best], AIMS[name], digits=0))
        for count, rates in by_count.items():
            print(f"  {name}, {count:>2} concurrent in each process {report.spread(rates)}")
    rows += [report.Row(f"CPU of {whose}, µs a turn", costed, digits=0) for whose, costed in costs.items()]
    print()
    report.table(rows, "beside", OURS)
    report.save_rows("engine", rows, ours=ours, others=others, debates=options.debates)
