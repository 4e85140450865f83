"""Seconds from `debate run` to its first turn on a warm machine, and of `debate --help`, compared with bare Python."""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

from scripts.benchmarks import report

COMMAND = [sys.executable, "-m", "app.cli"]
FIRST_TURN = "Proposer"
"""How the first turn's own line begins."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=7)


def run(options: argparse.Namespace) -> None:
    repeats = 1 if options.quick else options.repeats
    with tempfile.TemporaryDirectory(prefix="debate-bench-") as directory:
        environment = {**os.environ, "DEBATE_DATA_DIR": directory}
        first = _first_turn(environment)
        python, helped, ran = [], [], []
        for number in range(1, repeats + 1):
            print(f"  {number} of {repeats}", file=sys.stderr)
            python.append(_seconds([sys.executable, "-c", "pass"], environment))
            helped.append(_seconds([*COMMAND, "--help"], environment))
            if not options.quick:
                ran.append(_first_turn(environment))
    rows = [
        report.Row("debate --help", [seconds for seconds, _ in helped], aim=report.Aim(at_most=0.3), digits=3),
        report.Row("debate --help, CPU", [cpu for _, cpu in helped], digits=3),
        report.Row("python -c pass", [seconds for seconds, _ in python], digits=3),
    ]
    rows += [report.Row("debate run, to the first turn", ran, digits=2)] if ran else []
    rows += [report.Row("the same with a new data directory", [first], digits=2)]
    report.head("start", "seconds", repeats)
    report.table(rows, "", "seconds")
    report.save_rows("start", rows)


def _seconds(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """As the clock says, and of CPU, which does not depend on how busy the machine is."""
    began, used = time.perf_counter(), _cpu()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began, _cpu() - used


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _first_turn(environment: dict[str, str]) -> float:
    began = time.perf_counter()
    command = [*COMMAND, "run", "Cities should ban cars", "--rounds", "1"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        seconds = next((time.perf_counter() - began for line in running.stdout if line.startswith(FIRST_TURN)), None)
        running.stdout.read()
    assert seconds is not None, "no turn was printed"
    assert running.returncode == 0
    return seconds
