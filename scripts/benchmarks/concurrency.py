"""Many concurrent debates with slow players, compared with the ideal: the thinking time alone."""

import argparse
import sys
from dataclasses import dataclass

from app.bootstrap import build_services, close_services
from scripts.benchmarks import holding, processes, report
from scripts.benchmarks.place import own_servers


@dataclass(frozen=True)
class Scenario:
    debates: int
    think_seconds: float
    rounds: int
    aim: report.Aim

    @property
    def ideal_seconds(self) -> float:
        return self.rounds * holding.TURNS_A_ROUND * self.think_seconds

    @property
    def concurrency(self) -> int:
        """Of each worker process: enough for all debates, however they are distributed."""
        return min(20_000, self.debates)


SCENARIOS = [
    Scenario(200, 1.0, 2, report.Aim(at_least=0.96)),
    Scenario(1_000, 4.0, 2, report.Aim(at_least=0.98)),
]
QUICK = [Scenario(20, 0.2, 2, report.Aim(at_least=0.96))]


@dataclass
class Found:
    ideal_ratios: list[float]
    worker_cpu_seconds: list[float]
    worker_megabytes: list[float]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=3)


def run(options: argparse.Namespace) -> None:
    scenarios, repeats = (QUICK, 1) if options.quick else (SCENARIOS, options.repeats)
    found = [_measure(scenario, repeats) for scenario in scenarios]
    work = f"debates on {holding.PROCESSES} worker processes; the ideal is what the thinking alone takes"
    report.head("concurrency", work, repeats)
    rows = []
    for scenario, one in zip(scenarios, found, strict=True):
        turns = scenario.rounds * holding.TURNS_A_ROUND
        name = f"{scenario.debates:,} debates, {turns} turns of {scenario.think_seconds:g} s"
        rows.append(report.Row(f"{name}: ideal time / time", one.ideal_ratios, aim=scenario.aim, digits=3))
        rows.append(report.Row(f"{name}: workers' CPU, s", one.worker_cpu_seconds))
        rows.append(report.Row(f"{name}: both workers' memory, MB", one.worker_megabytes))
    report.table(rows, "", "debate-runner")
    report.save_rows("concurrency", rows)


def _measure(scenario: Scenario, repeats: int) -> Found:
    found = Found([], [], [])
    # A long lease: while thousands of debates are created the workers are stopped.
    with own_servers(worker_concurrency=scenario.concurrency, claim_seconds=120) as settings:
        services = build_services(settings, name="bench", database_connections=4)
        try:
            with holding.worker_processes(settings) as workers:
                # Threads are started and statements prepared before anything is timed.
                holding.hold(settings, services, workers, min(scenario.debates, 1_000), 1)
                for number in range(1, repeats + 1):
                    cpu = sum(processes.cpu_seconds(worker.process.pid) for worker in workers)
                    seconds = holding.hold(
                        settings, services, workers, scenario.debates, scenario.rounds, scenario.think_seconds
                    )
                    cpu = sum(processes.cpu_seconds(worker.process.pid) for worker in workers) - cpu
                    print(f"  {number} of {repeats}: {scenario.debates} debates: {seconds:.2f} s", file=sys.stderr)
                    found.ideal_ratios.append(scenario.ideal_seconds / seconds)
                    found.worker_cpu_seconds.append(cpu)
                    found.worker_megabytes.append(
                        sum(processes.memory_bytes(worker.process.pid) for worker in workers) / 1e6
                    )
        finally:
            close_services(services)
    return found
