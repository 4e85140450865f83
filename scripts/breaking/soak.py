"""Runs debates for a long time without faults, and shows whether any process grows."""

import argparse
import json
import random
import statistics
import sys
import threading
import time
from pathlib import Path

from app.settings import Settings
from scripts.breaking.history import first_violation, read
from scripts.breaking.load import Load
from scripts.breaking.passers_by import PassersBy
from scripts.breaking.plot import draw
from scripts.breaking.sampling import MEASURES, Sampler, Samples
from scripts.breaking.stage import Stage, own_servers

CLAIM_SECONDS = 5.0
PATIENCE_SECONDS = 120.0
"""After the time is over every debate must have ended within this."""
WARM_UP_SHARE = 0.25
"""The first part of a run, in which caches and pools fill, is not judged."""
ROOM = {"memory": 1.10, "files": 1.25, "threads": 1.25, "connections": 1.25}
"""How much more the last quarter may hold than the one after the warm-up; in bytes allocators are never quite still."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--debates", type=int, default=12, help="that run concurrently")
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples of the processes")
    parser.add_argument("--plot", type=Path, default=Path("bench-results/soak.svg"))
    options = parser.parse_args()
    with own_servers(CLAIM_SECONDS) as settings:
        return _run(settings, options)


def _run(settings: Settings, options: argparse.Namespace) -> int:
    stage = Stage(settings, apis=2, workers=2)
    try:
        stage.wait_until_ready()
        load = Load(stage.urls(), random.Random(), options.minutes * 60 + PATIENCE_SECONDS)
        passers_by = PassersBy(stage.urls(), load)
        holders = [threading.Thread(target=load.hold_debates, daemon=True) for _ in range(options.debates)]
        holders.append(threading.Thread(target=passers_by.come_and_go, daemon=True))
        for holder in holders:
            holder.start()
        sampler = Sampler(stage)
        until = time.monotonic() + options.minutes * 60
        while time.monotonic() < until:
            time.sleep(options.every)
            sampler.look()
        load.enough.set()
        for holder in holders:
            holder.join(max(0.0, load.give_up_at - time.monotonic()))
        restarts = sum(not program.is_alive for program in stage.programs)
    finally:
        stage.end()
    histories = list(read(str(settings.database_url)).values())
    turns = sum(len(history.turns) for history in histories)
    print(
        f"soak: {options.minutes:g} minutes, {len(histories)} debates, {turns} turns, {passers_by.came} brief listeners"
    )
    options.plot.parent.mkdir(exist_ok=True)
    options.plot.write_text(draw(sampler.samples))
    options.plot.with_suffix(".json").write_text(json.dumps(sampler.samples.series))
    print(f"plot: {options.plot}, figures: {options.plot.with_suffix('.json')}")
    problem = first_violation(histories) or (load.unexpected[0] if load.unexpected else None)
    if problem:
        print(problem)
    return 1 if grown(sampler.samples) or restarts or problem else 0


def grown(samples: Samples) -> list[str]:
    """Prints each process's middle values after the warm-up and at the end, and names those that grew."""
    grown = []
    for measure, title in MEASURES.items():
        print(f"\n{title:<24} after warm-up       at end")
        for name, line in samples.series[measure].items():
            quarter = max(1, int(len(line) * WARM_UP_SHARE))
            early = statistics.median(value for _, value in line[quarter : 2 * quarter] or line)
            late = statistics.median(value for _, value in line[-quarter:])
            flat = late <= early * ROOM[measure] + 1
            print(f"  {name:<22} {early:>13.1f} {late:>12.1f}  {'' if flat else 'GREW'}")
            if not flat:
                grown.append(f"{name}: {title}")
    return grown


if __name__ == "__main__":
    sys.exit(main())
