"""Commit-to-receipt latency and memory of watchers, compared with a bare relay (Redis to the `websockets` library)."""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from uuid import UUID

from redis import Redis

from app.bootstrap import build_services, close_services
from app.cli.children import API_COMMAND, Child, end
from app.cli.stack import free_port
from app.settings import Settings
from app.usecases.services import Services
from scripts.benchmarks import arguing, processes, report
from scripts.benchmarks.place import own_servers
from scripts.benchmarks.watchers import Receipts, latencies_ms, wait_until_served, watching

BARE_COMMAND = [sys.executable, "-m", "scripts.benchmarks.bare_relay"]
SIDES = {"bare": BARE_COMMAND, "ours": API_COMMAND}
SETTLE_SECONDS = 1.0


@dataclass(frozen=True)
class Scenario:
    name: str
    watchers: int
    debates: int
    turns_a_second: int
    seconds: int
    idle: int = 0
    """Watchers of other debates, in which nothing happens."""
    unwatched: int = 0
    """Other debates with as many turns, which have no watchers."""

    @property
    def turns(self) -> int:
        """Of all debates together."""
        return self.turns_a_second * self.seconds

    @property
    def turns_a_debate(self) -> int:
        return self.turns // (self.debates + self.unwatched)


SCENARIOS = [
    Scenario("1,000 watchers of 100 debates, 100 turns/s", 1000, 100, 100, 15),
    Scenario("2,000 watchers of one debate, 5 turns/s", 2000, 1, 5, 15),
    # Long enough for every idle one to be pinged and to answer.
    Scenario("10 watchers beside 5,000 idle ones, 5 turns/s", 10, 1, 5, 30, idle=5000),
    Scenario("10 watchers of 10 debates of 1,000 busy ones, 200 turns/s", 10, 10, 200, 30, unwatched=990),
]
QUICK = [
    Scenario("10 watchers beside 200 idle ones, 5 turns/s", 10, 1, 5, 1, idle=200),
    Scenario("2 watchers of 2 debates of 10 busy ones, 10 turns/s", 2, 2, 10, 2, unwatched=8),
]
IDLE_DEBATES = 100


@dataclass(frozen=True)
class Run:
    p50_ms: float
    p99_ms: float
    worst_ms: float
    turns_a_second: float
    """As they were committed."""
    cpu_us_a_receipt: float
    """Of the server's processes, while turns came."""
    redis_bytes_a_turn: float
    """Sent by Redis to the server's subscription, for each turn of all debates."""
    bytes_a_watcher: float


Runs = dict[str, list[Run]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=3)


def run(options: argparse.Namespace) -> None:
    scenarios, repeats = (QUICK, 1) if options.quick else (SCENARIOS, options.repeats)
    with own_servers() as settings:
        runs = _measure(settings, scenarios, repeats)
    _report(scenarios, repeats, runs)


def _measure(settings: Settings, scenarios: list[Scenario], repeats: int) -> list[Runs]:
    services = build_services(settings, name="bench", database_connections=arguing.MOST_THREADS)
    try:
        runs: list[Runs] = [{side: [] for side in SIDES} for _ in scenarios]
        # Taken in turn, so that whatever else the machine does falls on both.
        for number in range(1, repeats + 1):
            for scenario, found in zip(scenarios, runs, strict=True):
                for side, command in SIDES.items():
                    print(f"  {number} of {repeats}: {scenario.name}: {side}", file=sys.stderr)
                    found[side].append(_one(settings, services, scenario, command))
        return runs
    finally:
        close_services(services)


def _one(settings: Settings, services: Services, scenario: Scenario, command: list[str]) -> Run:
    """With a new server: memory that earlier watchers left would hide that of these."""
    debate_ids = arguing.create(services, scenario.debates + scenario.unwatched)
    idle_ids = arguing.create(services, IDLE_DEBATES) if scenario.idle else []
    wanted = [
        *islice(cycle(debate_ids[: scenario.debates]), scenario.watchers),
        *islice(cycle(idle_ids), scenario.idle),
    ]
    own = settings.with_changes(server_port=free_port("127.0.0.1"))
    server = Child("server", command, own, log=settings.data_dir / "server.log")
    try:
        wait_until_served(own.server_port, str(debate_ids[0]))
        return _watched(services, scenario, server, own, debate_ids, [str(one) for one in wanted])
    finally:
        end([server])


def _watched(
    services: Services, scenario: Scenario, server: Child, own: Settings, debate_ids: list[UUID], wanted: list[str]
) -> Run:
    pid, port = server.process.pid, own.server_port
    memory = processes.memory_bytes(pid)
    with watching(port, wanted) as pipe:
        time.sleep(SETTLE_SECONDS)
        memory = processes.memory_bytes(pid) - memory
        cpu, heard = processes.cpu_seconds(pid), _bytes_from_redis(own)
        committed, seconds = arguing.argue(services, debate_ids, scenario.turns, scenario.turns_a_second)
        pipe.send({str(debate_id): 1 + scenario.turns_a_debate for debate_id in debate_ids[: scenario.debates]})
        receipts: Receipts = pipe.recv()
        cpu, heard = processes.cpu_seconds(pid) - cpu, _bytes_from_redis(own) - heard
    latencies = latencies_ms(committed, receipts)
    assert len(latencies) == scenario.turns_a_debate * scenario.watchers
    centiles = statistics.quantiles(latencies, n=100)
    return Run(
        p50_ms=centiles[49],
        p99_ms=centiles[98],
        worst_ms=max(latencies),
        turns_a_second=scenario.turns / seconds,
        cpu_us_a_receipt=cpu / len(latencies) * 1e6,
        redis_bytes_a_turn=heard / scenario.turns,
        bytes_a_watcher=memory / len(wanted),
    )


def _bytes_from_redis(settings: Settings) -> int:
    """Sent to the one process that subscribes to anything, by Redis' own count."""
    with Redis.from_url(str(settings.redis_url)) as redis:
        return sum(int(client["tot-net-out"]) for client in redis.client_list("pubsub"))


def _report(scenarios: list[Scenario], repeats: int, runs: list[Runs]) -> None:
    print("\nrelay: from the commit of a turn to its receipt; one server process, one process of watchers")
    print(f"machine: {report.machine()}; {repeats} repeats, median (lowest to highest)")
    for scenario, found in zip(scenarios, runs, strict=True):
        print(f"\n{scenario.name}")
        print(f"  {'':16}{'bare relay':>30}{'debate-runner':>30}{'ratio':>20}")
        _row("p50, ms", found, lambda one: one.p50_ms)
        _row("p99, ms", found, lambda one: one.p99_ms)
        _row("CPU, µs/receipt", found, lambda one: one.cpu_us_a_receipt)
        _row("Redis, B/turn", found, lambda one: one.redis_bytes_a_turn)
        _row("memory, KB each", found, lambda one: one.bytes_a_watcher / 1024)
        _row("turns/s", found, lambda one: one.turns_a_second)
    print("\nEvery watcher received every turn once and in order, on both sides.\n")
    figures = {
        scenario.name: {side: [asdict(one) for one in found[side]] for side in SIDES}
        for scenario, found in zip(scenarios, runs, strict=True)
    }
    report.save("relay", {"scenarios": figures})


def _row(name: str, found: Runs, figure: Callable[[Run], float]) -> None:
    bare, ours = [figure(one) for one in found["bare"]], [figure(one) for one in found["ours"]]
    # Compares neighboring repeats. Two watchers may fit into memory that the bare relay already has.
    ratios = [mine / reference if reference else math.nan for mine, reference in zip(ours, bare, strict=True)]
    print(f"  {name:16}{_spread(bare, 1)}{_spread(ours, 1)}{_spread(ratios, 2)}")


def _spread(values: list[float], digits: int) -> str:
    middle, lowest, highest = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} ({lowest:.{digits}f} to {highest:.{digits}f})".rjust(30 if digits == 1 else 20)
