"""`debate run`, ended before its time."""

import re
import signal
import time
from collections.abc import Iterator

import pytest
from cli_home import Home, new_home
from harness import wait_until

pytestmark = pytest.mark.long

THINK_SECONDS = 100
THINKING = ("--rounds", "1", "--think", str(THINK_SECONDS))


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with new_home(is_real=True, DEBATE_CLAIM_SECONDS="2") as made:
        yield made


def test_a_signal_while_a_player_thinks_stops_the_debate_and_ends_everything(home: Home) -> None:
    by_hand = home.start("run", "Stopped by Ctrl-C", *THINKING)
    by_timeout = home.start("run", "Stopped by SIGTERM", *THINKING)
    for run in (by_hand, by_timeout):
        run.wait_for("Motion")
    told_at = time.monotonic()
    by_hand.send(signal.SIGINT)
    # `timeout` says it to the process and to its group: one wish that arrives twice.
    by_timeout.send(signal.SIGTERM)
    time.sleep(0.05)
    by_timeout.send(signal.SIGTERM)
    assert [by_hand.end(), by_timeout.end()] == [130, 143]
    assert time.monotonic() - told_at < THINK_SECONDS / 2
    for run in (by_hand, by_timeout):
        assert "\nStopping the debate …\nThe debate is stored. Start a server with `debate up`. " in run.stderr
        assert re.search(r"debate fork [0-9a-f-]{36} --after-seq 1\n$", run.stderr)
    home.wait_until_nothing_runs()
    with home.sql() as connection:
        found = connection.execute("SELECT title, status, stop_reason, turn_count FROM debates ORDER BY title")
        assert found.fetchall() == [
            ("Stopped by Ctrl-C", "stopped", "manual_stop", 1),
            ("Stopped by SIGTERM", "stopped", "manual_stop", 1),
        ]


def test_ctrl_c_while_the_servers_start_leaves_nothing() -> None:
    with new_home(is_real=True) as fresh:
        run = fresh.start("run", "Never begun", *THINKING)
        wait_until(fresh.data_dir.exists, 60, "it has begun to start the servers")
        run.send(signal.SIGINT)
        assert run.end() == 130
        assert run.stderr == ""
        fresh.wait_until_nothing_runs()


def test_kill_9_in_the_middle_of_a_turn_leaves_nothing_running_and_the_next_worker_finishes_the_debate(
    home: Home,
) -> None:
    run = home.start("run", "Killed", "--rounds", "1", "--think", "1")
    run.wait_for("Motion")
    time.sleep(0.3)
    run.send(signal.SIGKILL)
    run.end()
    home.wait_until_nothing_runs()

    after = home.debate("run", "The next one", "--rounds", "1")
    assert after.process.returncode == 0, after.stderr

    up = home.start("up")
    up.wait_for("debate-runner is up")
    up.wait_for("access every user of this machine: DEBATE_AUTH_TOKEN is not set")

    def is_finished() -> bool:
        listed = home.debate("list", "--status", "completed").stdout
        return any(line.endswith("  Killed") for line in listed.splitlines())

    wait_until(is_finished, 60, "the killed debate is finished")
    up.send(signal.SIGINT)
    assert up.end() == 0
    home.wait_until_nothing_runs()
