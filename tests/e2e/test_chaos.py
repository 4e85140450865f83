"""A short run of scripts/chaos. The long ones are commands: docs/reliability.md."""

import re
import subprocess
import sys

import pytest


@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_debate_ends_whole_whatever_is_broken_meanwhile() -> None:
    options = ["--minutes", "0.25", "--seed", "3", "--workers", "2", "--apis", "2", "--debates", "8", "--pause", "0.8"]
    run = subprocess.run(
        [sys.executable, "-m", "scripts.breaking", *options], capture_output=True, text=True, timeout=280
    )
    assert run.returncode == 0, run.stdout + run.stderr
    figures = {name.strip(): int(count) for name, count in re.findall(r"^(.+?) {2,}(\d+)$", run.stdout, re.MULTILINE)}
    assert figures["faults injected"] >= 5
    assert figures["debates"] == figures["of them ended"] >= 8
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
    got, needed = figures["calls that the provider got"], figures["calls that were needed"]
    assert needed == 4 * 15 + 112 == got - figures["answers that were never stored"]
    assert figures["violations"] == 0
