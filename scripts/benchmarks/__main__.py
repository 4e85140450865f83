"""Runs benchmarks. Each prints a table of ratios and writes its figures as JSON.

Without a part, all run one after another.
"""

import argparse
import sys
import traceback
from contextlib import nullcontext
from types import ModuleType

from app.observe.logs import configure_logs
from scripts.benchmarks import (
    agreement,
    api,
    concurrency,
    engine,
    experiments,
    garbage,
    growth,
    listing,
    many,
    models,
    prompts,
    prune,
    relay,
    start,
    stop,
    worker,
)
from scripts.benchmarks.place import shared_servers

PARTS: dict[str, ModuleType] = {
    "engine": engine,
    "concurrency": concurrency,
    "many": many,
    "stop": stop,
    "relay": relay,
    "models": models,
    "prompts": prompts,
    "list": listing,
    "experiment": experiments,
    "agreement": agreement,
    "growth": growth,
    "prune": prune,
    "api": api,
    "garbage": garbage,
    "start": start,
    "worker": worker,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    words = "small numbers and one repeat: check only that it works"
    parser.add_argument("--quick", action="store_true", help=words)
    parts = parser.add_subparsers(dest="part")
    for name, part in PARTS.items():
        own = parts.add_parser(name, help=part.__doc__)
        # Accepted before and after the part.
        own.add_argument("--quick", action="store_true", default=argparse.SUPPRESS, help=words)
        part.add_options(own)
    options = parser.parse_args()
    # Log lines of this process are not useful; the workers write theirs.
    configure_logs("error")
    if options.part:
        PARTS[options.part].run(options)
    else:
        _run_all(parser, options.quick)


def _run_all(parser: argparse.ArgumentParser, quick: bool) -> None:
    with shared_servers() if quick else nullcontext():
        failed = [name for name in PARTS if not _succeeds(parser, name, quick)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _succeeds(parser: argparse.ArgumentParser, name: str, quick: bool) -> bool:
    """A failed part does not stop the others."""
    try:
        PARTS[name].run(parser.parse_args([*(["--quick"] if quick else []), name]))
    except Exception:
        traceback.print_exc()
        return False
    return True


main()
