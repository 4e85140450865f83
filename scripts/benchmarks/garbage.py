"""CPU per request with the garbage collector of `freeze_garbage_collector`, compared with Python's default."""

import argparse
import json
import subprocess
import sys

from app.settings import Settings, child_environment
from scripts.benchmarks import report
from scripts.benchmarks.place import own_servers

IN_FLIGHT = 50


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--requests", type=int, default=200, help="of each kind, for each repeat and side")
    parser.add_argument("--repeats", type=int, default=10)


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.requests, options.repeats = 50, 2
    with own_servers() as settings:
        found = _child(settings, options)
    rows = [
        report.Row(f"{kind}, CPU µs each", sides["frozen"], sides["default"])
        for kind, sides in found.items()
        if kind != "pause"
    ]
    rows.append(report.Row("one full collection, ms", found["pause"]["frozen"], found["pause"]["default"]))
    report.head("garbage", f"{IN_FLIGHT} requests in flight, both sides in one process", options.repeats)
    report.table(rows, "Python's default", "frozen")
    report.save_rows("garbage", rows)


def _child(settings: Settings, options: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """In a separate process, because gevent patches its process."""
    command = [sys.executable, "-m", "scripts.benchmarks.garbage_sides", str(options.requests), str(options.repeats)]
    done = subprocess.run(command, env=child_environment(settings), stdout=subprocess.PIPE, check=True)
    measured: dict[str, dict[str, list[float]]] = json.loads(done.stdout.splitlines()[-1])
    return measured
