"""A minute of scripts/chaos. The longer runs are commands: docs/reliability.md."""

import re
import subprocess
import sys

import pytest

# With this seed a minute has a fault of every kind, among them killed workers, API processes and servers. Two debates
# of five ask a hostile provider.
MINUTE = {"minutes": "1", "seed": "403", "workers": "2", "apis": "1", "debates": "4", "pause": "2.5"}


@pytest.mark.timeout(360)
def test_every_debate_ends_whole_whatever_is_broken_meanwhile() -> None:
    options = [word for name, value in MINUTE.items() for word in (f"--{name}", value)]
    run = subprocess.run(
        [sys.executable, "-m", "scripts.breaking", *options], capture_output=True, text=True, timeout=340
    )
    assert run.returncode == 0, run.stdout + run.stderr
    figures = {name.strip(): int(count) for name, count in re.findall(r"^(.+?) {2,}(\d+)$", run.stdout, re.MULTILINE)}
    assert figures["faults injected"] >= 10
    assert figures["worker killed (SIGKILL)"] >= 1
    assert figures["Redis killed"] >= 1
    assert figures["debates"] == figures["ended"] >= 8
    assert figures["calls received"] > 0, "the hostile provider was asked"
    assert figures["violations"] == 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_experiment_is_held_once_and_paid_once_whatever_is_killed_meanwhile() -> None:
    options = ["--load", "experiment", "--matches", "28", "--minutes", "13", "--seed", "3", "--workers", "2"]
    run = subprocess.run(
        [sys.executable, "-m", "scripts.breaking", *options], capture_output=True, text=True, timeout=880
    )
    assert run.returncode == 0, run.stdout + run.stderr
    figures = {name.strip(): int(count) for name, count in re.findall(r"^(.+?) {2,}(\d+)$", run.stdout, re.MULTILINE)}
    assert (figures["workers killed (SIGKILL)"], figures["Redis emptied"]) == (5, 2)
    assert (figures["debates"], figures["judgments"]) == (28, 112)
    got, needed = figures["model calls"], figures["model calls needed"]
    assert needed == 4 * 15 + 112 == got - figures["responses never stored"]
    assert figures["violations"] == 0
