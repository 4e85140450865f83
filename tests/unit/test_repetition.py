"""A failed test runs 20 times, and one more failure is final."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from harness import REPOSITORY

TESTS = '''
import pathlib, pytest

def once(name):
    """False the first time."""
    seen = pathlib.Path(__file__).with_name(name)
    count = int(seen.read_text()) if seen.exists() else 0
    seen.write_text(str(count + 1))
    return count

@pytest.mark.parametrize("number", [1, 2, 3])
def test_fails_once(number):
    assert once(f"once-{number}") > 0 or number > LAST, "the first time"

def test_fails_seldom():
    assert once("seldom") != 7

def test_passes():
    once("passes")
'''


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "repetition", "-p", "no:cacheprovider", *arguments]
    environment = {"PYTHONPATH": str(REPOSITORY / "tests"), "PATH": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def failures(folder: Path, last: int, selected: str) -> Path:
    (folder / "tests").mkdir()
    (folder / "tests" / "unstable.md").write_text("| `test_a.py::test_fails_once[2]` | today | a race |\n")
    (folder / "test_a.py").write_text(TESTS.replace("LAST", str(last)))
    file = folder / "failures.json"
    assert run(folder, "--failures-to", str(file), "-k", selected).returncode in (0, 1)
    return file


def test_a_test_that_then_passes_is_unstable_and_its_failure_is_shown(tmp_path: Path) -> None:
    file = failures(tmp_path, 2, "once")
    assert list(json.loads(file.read_text())) == [f"test_a.py::test_fails_once[{number}]" for number in (1, 2)]
    again = run(tmp_path, "--again", str(file), "-k", "once or passes")
    assert again.returncode == 0, again.stdout
    assert "the first time" in again.stdout
    assert "test_a.py::test_fails_once[1] passed 20 times.\n" in again.stdout
    assert "test_a.py::test_fails_once[2] passed 20 times; tests/unstable.md lists it.\n" in again.stdout
    counts = {name: int((tmp_path / name).read_text()) for name in ("once-1", "once-3", "passes")}
    assert counts == {"once-1": 21, "once-3": 2, "passes": 1}, "the others of its file run once"


def test_three_unstable_tests_fail_the_run(tmp_path: Path) -> None:
    again = run(tmp_path, "--again", str(failures(tmp_path, 3, "once")), "-k", "once")
    assert again.returncode == 1
    assert "3 tests are unstable" in again.stdout


@pytest.mark.parametrize("named", ["test_a.py::test_fails_seldom", "test_a.py::test_fails_once[1]"])
def test_one_more_failure_is_final(tmp_path: Path, named: str) -> None:
    failures(tmp_path, 0, "passes")
    (tmp_path / "by_hand.json").write_text(json.dumps({named: ""}))
    again = run(tmp_path, "--again", str(tmp_path / "by_hand.json"))
    assert again.returncode == ("seldom" in named)
    assert ("test_fails_seldom[repetition7]" in again.stdout) == ("seldom" in named)
