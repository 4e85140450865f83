"""Time and memory for the agreement of 200 judges over 2,000 debates."""

import argparse
import sys
import time
import tracemalloc

import numpy as np

from app.statistics import agreement
from app.statistics.arrays import Codes, Floats
from scripts.benchmarks import report


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--judges", type=int, default=200)
    parser.add_argument("--debates", type=int, default=2_000, help="each on a different motion, judged by every judge")
    parser.add_argument("--repeats", type=int, default=5)


def run(options: argparse.Namespace) -> None:
    judges, debates, repeats = (20, 100, 1) if options.quick else (options.judges, options.debates, options.repeats)
    given = _judged(judges, debates)
    found = []
    for number in range(1, repeats + 1):
        print(f"  {number} of {repeats}", file=sys.stderr)
        found.append(_measured(judges, given))
    seconds, cpu = (list(each) for each in zip(*found, strict=True))
    tracemalloc.start()
    _measured(judges, given)
    memory = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    rows = [
        report.Row("seconds", seconds, aim=report.Aim(at_most=2), digits=2),
        report.Row("seconds of CPU", cpu, digits=2),
        report.Row("MB, at most", [memory], aim=report.Aim(at_most=200)),
    ]
    pairs = judges * (judges - 1) // 2
    report.head("agreement", f"{judges:,} judges, {pairs:,} pairs, {debates:,} debates", repeats)
    report.table(rows, "", "taken")
    report.save_rows("agreement", rows, judges=judges, debates=debates)


def _judged(judges: int, debates: int) -> tuple[Codes, Codes, Floats]:
    debate, judge = np.repeat(np.arange(debates), judges), np.tile(np.arange(judges), debates)
    return debate, judge, np.random.default_rng(7).choice([0.0, 0.5, 1.0], size=len(debate))


def _measured(judges: int, given: tuple[Codes, Codes, Floats]) -> tuple[float, float]:
    """As the clock says, and of CPU, which does not depend on how busy the machine is."""
    debate, judge, points = given
    began, cpu = time.perf_counter(), time.process_time()
    agreement.agreement(agreement.opinions(debate, debate, judge, points), judges, seed=7)
    return time.perf_counter() - began, time.process_time() - cpu
