"""A password in an address is in nothing that a program prints."""

import sys

import pytest
from cli_home import NOBODY, Command, Home
from harness import wait_until

from app.cli.children import API_COMMAND, WORKER_COMMAND

SECRET = "S3CRET"  # noqa: S105 (of nobody)
UNREADABLE = {
    "DEBATE_REDIS_URL": [f"redis://:{SECRET}/more@127.0.0.1:1/0", f"redis://:12/{SECRET}@127.0.0.1:1/0"],
    "DEBATE_DATABASE_URL": [f"postgresql://u:x@{SECRET}@127.0.0.1:1/d", f"postgresql://u:x@127.0.0.1:{SECRET}/d"],
    "DEBATE_SERVER_URL": [f"http://u:{SECRET}/more@127.0.0.1:1"],
}
AWAY = {
    "DEBATE_DATABASE_URL": f"postgresql://u:{SECRET}@127.0.0.1:1/d",
    "DEBATE_REDIS_URL": f"redis://:{SECRET}@127.0.0.1:1/0",
}


def assert_discreet(command: Command) -> None:
    assert SECRET not in command.stdout + command.stderr
    assert "Traceback" not in command.stderr


def assert_refused(command: Command, name: str) -> None:
    assert command.process.returncode == 1, command.stderr
    assert command.stderr.startswith(f"debate: bad configuration: {name}")
    assert len(command.stderr.splitlines()) == 1
    assert_discreet(command)


@pytest.mark.parametrize(("name", "url"), [(name, url) for name, urls in UNREADABLE.items() for url in urls])
def test_an_address_that_cannot_be_read_is_named_and_not_repeated(home: Home, name: str, url: str) -> None:
    assert_refused(home.debate("doctor", seconds=100, **{**AWAY, name: url}), name)


@pytest.mark.parametrize("program", [API_COMMAND, WORKER_COMMAND])
def test_the_same_as_containers_start_them(home: Home, program: list[str]) -> None:
    home.program, home.is_real = program, True
    [url, _] = UNREADABLE["DEBATE_REDIS_URL"]
    assert_refused(home.debate(seconds=100, **{**AWAY, "DEBATE_REDIS_URL": url}), "DEBATE_REDIS_URL")


def test_servers_that_are_away_are_spoken_of_without_their_passwords(home: Home) -> None:
    for arguments in (["doctor"], ["health", "worker"], ["db", "upgrade"], ["refused"]):
        command = home.debate(*arguments, **AWAY)
        assert command.process.returncode != 0
        assert command.stdout + command.stderr
        assert_discreet(command)
    for arguments in (["list"], ["watch", NOBODY], ["run", "Nobody is there"]):
        command = home.debate(*arguments, DEBATE_SERVER_URL=f"http://u:{SECRET}@127.0.0.1:1")
        assert command.process.returncode == 3
        assert "http://127.0.0.1:1" in command.stderr
        assert_discreet(command)


def test_the_logs_of_programs_whose_servers_are_away_have_no_password(home: Home) -> None:
    home.program = [sys.executable, "-m", "worker"]
    worker = home.start(**AWAY)
    home.program = API_COMMAND
    api = home.start(**AWAY)
    # The worker has noticed that both are away.
    wait_until(lambda: "127.0.0.1:1" in worker.stderr or worker.stderr.count("\n") > 3, 60, "the worker complains")
    for program in (worker, api):
        program.process.terminate()
        program.end(60)
        assert SECRET not in program.stdout + program.stderr
