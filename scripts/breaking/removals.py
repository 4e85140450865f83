"""Removes each safeguard from a copy of the code, and shows that its test then fails.

Each removal is made in a copy of this checkout. First its tests must pass as they are; then they must fail.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_SECONDS = 300
TESTS_FAILED = 1
"""pytest's exit code; any other but 0 says that nothing was tried."""


@dataclass(frozen=True)
class Edit:
    file: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        path = root / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.file} has changed: {self.old!r} is there {text.count(self.old)} times")
        path.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Removal:
    what: str
    edits: Sequence[Edit]
    tests: Sequence[str]


REMOVALS = (
    Removal(
        "the fencing check",
        (Edit("app/store/commit.py", "OR claim_token = given.token AND", "OR given.token IS NOT NULL AND"),),
        ("tests/integration/test_advance.py::test_what_a_person_does_meanwhile_takes_the_claim_away",),
    ),
    Removal(
        "the unique key",
        (
            Edit(
                "migrations/versions/0033_schema.sql",
                "    CONSTRAINT turns_one_per_slot UNIQUE (debate_id, round, actor),\n",
                "",
            ),
        ),
        ("tests/integration/test_commit_paths.py::test_a_turn_that_exists_is_refused_and_the_connection_serves_on",),
    ),
    Removal(
        "the sweeper",
        (Edit("app/usecases/sweep.py", '    Upkeep("sweeper", 1.0, _sweep, needs_lease=True),\n', ""),),
        ("tests/e2e/test_workers.py::test_a_killed_workers_turn_is_taken_over",),
    ),
    Removal(
        "the check of the worker's lease",
        (Edit("app/store/commit.py", " AND given.worker_id IN (SELECT worker_id FROM live)\n", "\n"),),
        ("tests/integration/test_lease.py::test_a_claim_whose_lease_has_lapsed_stores_nothing_until_it_is_renewed",),
    ),
    Removal(
        "publish after commit",
        (
            Edit(
                "app/usecases/submit.py",
                "    log_repair(locked, debate)\n"
                "    after, stored = outcome.debate, outcome.turns\n"
                "    services.publisher.end_claim(outcome.ended_claim)\n"
                "    publish_stored(services, (after, stored))",
                "        log_repair(locked, debate)\n"
                "        after, stored = outcome.debate, outcome.turns\n"
                "        services.publisher.end_claim(outcome.ended_claim)\n"
                "        publish_stored(services, (after, stored))",
            ),
        ),
        ("tests/integration/test_publisher.py::test_a_write_that_fails_at_its_commit_tells_nobody",),
    ),
    Removal(
        "the relay's gap detection",
        (Edit("app/realtime/feed.py", "if item.seq == self.known + 1:", "if item.seq > self.known:"),),
        (
            "tests/integration/test_relay.py::test_a_feed_never_goes_past_a_hole",
            "tests/integration/test_relay.py::test_listeners_get_every_turn_once_over_a_bus_that_loses_doubles_and_reorders",
        ),
    ),
    Removal(
        "the idempotency lookup inside the lock",
        (
            Edit(
                "app/usecases/submit.py",
                "            before = turns.of_request("
                "connection, debate_id, submission.client_request_id, move.seat, speaker(caller))\n",
                "",
            ),
            Edit(
                "app/usecases/submit.py",
                "        locked = lock_to_change(connection, caller, debate_id)\n",
                "        before = turns.of_request("
                "connection, debate_id, submission.client_request_id or '', move.seat, speaker(caller))\n"
                "        locked = lock_to_change(connection, caller, debate_id)\n",
            ),
        ),
        (
            "tests/integration/test_protocol_repeats.py"
            "::test_of_fifty_submissions_for_one_turn_one_is_taken_and_repetitions_are_answered_with_it",
        ),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/removals", description=__doc__)
    names = [removal.what for removal in REMOVALS]
    parser.add_argument("what", nargs="*", help=f"safeguards to remove [default: all]: {', '.join(names)}")
    chosen = parser.parse_args().what
    if unknown := set(chosen) - set(names):
        parser.error(f"unknown safeguard: {', '.join(sorted(unknown))}")
    unnoticed = [
        removal.what for removal in REMOVALS if not chosen or removal.what in chosen if not _is_noticed(removal)
    ]
    for what in unnoticed:
        print(f"NO TEST FAILED without {what}")
    return 1 if unnoticed else 0


def _is_noticed(removal: Removal) -> bool:
    directory = Path(tempfile.mkdtemp(prefix="debate-removal-"))
    try:
        copy = directory / "main"
        for name in ("app", "worker", "migrations", "debate_client", "tests", "scripts"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        whole = [_exit_code(copy, test) for test in removal.tests]
        for edit in removal.edits:
            edit.apply(copy)
        without = [_exit_code(copy, test) for test in removal.tests]
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for test, before, after in zip(removal.tests, whole, without, strict=True):
        said = {0: "passes", TESTS_FAILED: "fails"}
        name = test.rpartition("::")[2]
        print(
            f"without {removal.what}: {name} {said.get(after, after)} (with it: {said.get(before, before)})", flush=True
        )
    return set(whole) == {0} and set(without) == {TESTS_FAILED}


def _exit_code(root: Path, test: str) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", test]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
