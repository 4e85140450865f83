"""Injects random faults while debates run, then checks that every debate ended with every turn exactly once."""

import argparse
import os
import random
import statistics
import sys
import threading
import time

from app.settings import Settings
from scripts.breaking import experiment
from scripts.breaking.faults import Faults
from scripts.breaking.history import History, first_violation, read
from scripts.breaking.hostile_provider import TIMEOUT_SECONDS, HostileProvider
from scripts.breaking.load import Load
from scripts.breaking.recovery import Recovery
from scripts.breaking.stage import LOSSY, Stage, own_servers

CLAIM_SECONDS = 5.0
RECOVERY_SECONDS = 180.0
"""After the last fault every debate must have ended within this time."""
WITH_MODELS = 0.4
"""The share of debates with a model of the hostile provider in them."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument(
        "--load", choices=("debates", "experiment"), default="debates",
        help="debates with random faults, or one experiment with workers killed five times",
    )  # fmt: skip
    parser.add_argument("--minutes", type=float, default=None, help="duration or maximum [default: 10, or 60]")
    parser.add_argument("--matches", type=int, default=1_000, help="of the experiment")
    parser.add_argument("--seed", type=int, default=None, help="the same seed gives the same choices [default: random]")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--apis", type=int, default=2)
    parser.add_argument("--debates", type=int, default=40, help="that run concurrently")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between two faults, on average")
    parser.add_argument("--keep", action="store_true", help="keep the logs and the database directory")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    is_experiment = options.load == "experiment"
    options.minutes = options.minutes or (60 if is_experiment else 10)
    print(f"chaos: seed {seed}, {options.minutes:g} minutes", flush=True)
    chance = random.Random(seed)
    if is_experiment:
        return experiment.hold(options, chance)
    with own_servers(CLAIM_SECONDS, options.keep) as settings, HostileProvider(chance.random()) as provider:
        os.environ.update(provider.environment)
        changed = settings.with_changes(failpoints=LOSSY, model_timeout_seconds=TIMEOUT_SECONDS)
        return _run(changed, options, chance, provider)


def _run(settings: Settings, options: argparse.Namespace, chance: random.Random, provider: HostileProvider) -> int:
    stage = Stage(settings, options.apis, options.workers)
    ending = threading.Event()
    try:
        stage.wait_until_ready()
        recovery = Recovery(stage)
        load = Load(stage.urls(), chance, options.minutes * 60 + RECOVERY_SECONDS, WITH_MODELS)
        faults = Faults(stage, chance, recovery)
        holders = [threading.Thread(target=load.hold_debates, daemon=True) for _ in range(options.debates)]
        for work in (recovery.watch, stage.restart_what_died):
            threading.Thread(target=work, args=(ending,), daemon=True).start()
        for holder in holders:
            holder.start()
        faults.go_on(time.monotonic() + options.minutes * 60, options.pause)
        load.enough.set()
        provider.is_calm = True
        for holder in holders:
            holder.join(max(0.0, load.give_up_at - time.monotonic()))
    finally:
        ending.set()
        stage.end()
    histories = read(str(settings.database_url))
    for debate_id, history in histories.items():
        history.acknowledged = load.acknowledged[debate_id]
        history.received = load.received[debate_id]
        if debate_id in load.motions:
            resumes, pauses = (load.asked_for[f"/debates/{debate_id}/{what}"] for what in ("resume", "pause"))
            history.calls = provider.calls_for(load.motions[debate_id], resumes, pauses, faults.interruptions)
    return _report(list(histories.values()), faults, recovery, load, provider)


def _report(histories: list[History], faults: Faults, recovery: Recovery, load: Load, provider: HostileProvider) -> int:
    print(f"\n{'faults injected':<42} {sum(faults.injected.values()):>6}")
    for name, count in sorted(faults.injected.items()):
        print(f"  {name:<40} {count:>6}")
    received = sum(len(history.received) for history in histories)
    ended = sum(history.debate["status"] in ("completed", "stopped") for history in histories)
    print(f"{'debates':<42} {len(histories):>6}\n{'  ended':<42} {ended:>6}")
    print(f"{'turns':<42} {sum(len(history.turns) for history in histories):>6}\n{'watchers':<42} {received:>6}")
    print(f"{'debates with a hostile provider':<42} {len(load.motions):>6}")
    print(f"{'  calls received':<42} {provider.total:>6}")
    print(f"{'claims of killed workers reclaimed':<42} {len(recovery.seconds):>6}")
    if len(recovery.seconds) > 1:
        percentiles = statistics.quantiles(recovery.seconds, n=100, method="inclusive")
        print(f"  after p50 {percentiles[49]:.1f} s, p99 {percentiles[98]:.1f} s (claims last {CLAIM_SECONDS:g} s)")
    problem = first_violation(histories) or (load.unexpected[0] if load.unexpected else None)
    print(f"{'violations':<42} {0 if problem is None else 'yes':>6}")
    if problem:
        print(f"\n{problem}")
    return 0 if problem is None and ended == len(histories) else 1


sys.exit(main())
