"""The programs of docs/agents.md, run as they are written there, against a real server."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from byte_proxy import byte_proxy
from cli_home import run_program, url_of
from harness import REPOSITORY, Api, numbers, wait_until
from lossy_proxy import BAD_GATEWAY, GATEWAY_TIMEOUT, LOSE_ANSWER, LOSE_REQUEST, UNAVAILABLE, lossy_proxy
from watchers import a_dialogue, argue

pytestmark = pytest.mark.long

EXAMPLES = REPOSITORY / "docs" / "examples"
DIALOGUE = ["MOTION", "CLAIM", "CLAIM", "CLAIM", "CLAIM", "CLAIM", "RESOLUTION", "RULING"]
SPEAKERS = ["proposer", "opponent", "proposer", "opponent", "proposer", "opponent", "proposer", "arbitrator"]


class Programs:
    def __init__(self, directory: Path, server: str) -> None:
        self.directory = directory
        self.server = server
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *command: str | Path) -> "subprocess.Popen[str]":
        environment = {**os.environ, "DEBATE_SERVER_URL": self.server, "NO_PROXY": "127.0.0.1"}
        program = subprocess.Popen(
            [sys.executable, *command],
            cwd=self.directory,
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(program)
        return program

    def proposer(self, motion: str, *options: str) -> "subprocess.Popen[str]":
        return self.start(EXAMPLES / "proposer.py", motion, *options)

    def opponent(self, *options: str) -> "subprocess.Popen[str]":
        return self.start(EXAMPLES / "opponent.py", *options)


@pytest.fixture
def programs(api: Api, tmp_path: Path) -> Iterator[Programs]:
    made = Programs(tmp_path, url_of(api))
    yield made
    for program in made.started:
        program.kill()
        program.communicate()


@pytest.fixture
def motion() -> str:
    return f"We should write the tests first ({next(numbers)})"


def debate_of(api: Api, motion: str) -> str:
    """Its id, once it is there."""

    def found() -> list[str]:
        listed = api.http.get("/debates", params={"q": motion}).json()["data"]["debates"]
        return [debate["id"] for debate in listed]

    wait_until(lambda: len(found()) == 1, 60, "the debate is created")
    return found()[0]


def assert_ends_well(*running: "subprocess.Popen[str]") -> None:
    for program in running:
        _, said = program.communicate(timeout=60)
        assert program.returncode == 0, said
        assert said.endswith("the debate is closed\n")


def assert_nothing_lost_or_doubled(api: Api, debate_id: str) -> None:
    transcript = api.transcript(debate_id)
    turns = [transcript["motion"], *transcript["arguments"]]
    assert [turn["type"] for turn in turns] == DIALOGUE
    assert [turn["role"] for turn in turns] == SPEAKERS
    assert [turn["parent_id"] for turn in turns] == [None, *(turn["id"] for turn in turns[:-1])]
    assert (transcript["debate"]["status"], transcript["debate"]["stop_reason"]) == ("completed", "resolution")


def test_the_two_programs_debate_to_the_end(api: Api, programs: Programs, motion: str) -> None:
    opponent = programs.opponent()
    proposer = programs.proposer(motion)
    assert_ends_well(proposer, opponent)
    assert_nothing_lost_or_doubled(api, debate_of(api, motion))
    assert list(programs.directory.iterdir()) == [], "what the opponent remembered is gone with its debate"


@pytest.mark.parametrize("victim", ["proposer", "opponent"])
def test_a_program_killed_in_the_middle_and_started_again_doubles_nothing(
    api: Api, programs: Programs, motion: str, victim: str
) -> None:
    def start(name: str) -> "subprocess.Popen[str]":
        think = "0.4" if name == victim else "0"
        return (
            programs.proposer(motion, "--think", think) if name == "proposer" else programs.opponent("--think", think)
        )

    running = {name: start(name) for name in ("proposer", "opponent")}
    debate_id = debate_of(api, motion)
    for spoken in (3, 5):
        wait_until(lambda at=spoken: api.debate(debate_id)["argument_count"] >= at, 60, f"{spoken} have spoken")
        running[victim].send_signal(signal.SIGKILL)
        running[victim].wait()
        running[victim] = start(victim)
    assert_ends_well(*running.values())
    assert_nothing_lost_or_doubled(api, debate_id)


def test_a_second_copy_of_a_program_doubles_nothing(api: Api, programs: Programs, motion: str) -> None:
    first, second = programs.proposer(motion), programs.proposer(motion)
    debate_id = debate_of(api, motion)
    assert_ends_well(first, second, programs.opponent(debate_id), programs.opponent(debate_id))
    assert_nothing_lost_or_doubled(api, debate_id)


def test_a_network_that_loses_requests_and_answers_doubles_nothing(api: Api, programs: Programs, motion: str) -> None:
    with lossy_proxy(programs.server) as proxy:
        proxy.mishaps = [LOSE_ANSWER, LOSE_REQUEST, UNAVAILABLE, LOSE_ANSWER]
        programs.server = proxy.url
        proposer = programs.proposer(motion, "--arguments", "2")
        debate_id = debate_of(api, motion)
        assert_ends_well(proposer, programs.opponent(debate_id))
        assert proxy.mishaps == []
    assert_nothing_lost_or_doubled(api, debate_id)


def test_a_proxy_whose_server_is_restarted_ends_neither_program(api: Api, programs: Programs, motion: str) -> None:
    with lossy_proxy(programs.server) as proxy:
        proxy.mishaps, proxy.mishaps_of_gets = [BAD_GATEWAY, GATEWAY_TIMEOUT], [BAD_GATEWAY, GATEWAY_TIMEOUT]
        programs.server = proxy.url
        proposer = programs.proposer(motion, "--arguments", "2")
        debate_id = debate_of(api, motion)
        assert_ends_well(proposer, programs.opponent(debate_id))
        assert proxy.mishaps == proxy.mishaps_of_gets == []
    assert_nothing_lost_or_doubled(api, debate_id)


def test_a_proxy_whose_server_is_restarted_does_not_end_the_watcher(api: Api, programs: Programs) -> None:
    debate_id, motion_id = a_dialogue(api)
    argue(api, debate_id, argue(api, debate_id, motion_id), path="resolution")
    with byte_proxy(("127.0.0.1", int(api.http.base_url.port or 0))) as proxy:
        proxy.answers_instead = [b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"]
        programs.server = f"http://127.0.0.1:{proxy.port}"
        output, complaints = programs.start(EXAMPLES / "watch.py", debate_id).communicate(timeout=60)
    assert complaints == ""
    assert len(output.splitlines()) == 4


def block(language: str, heading: str) -> str:
    """The first block of this language in a section of docs/agents.md."""
    page = (REPOSITORY / "docs" / "agents.md").read_text()
    section = page.split(f"\n## {heading}\n")[1]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_smallest_opponent_in_the_document_argues_to_the_end(api: Api, programs: Programs, motion: str) -> None:
    smallest = programs.directory / "smallest.py"
    smallest.write_text(block("python", "In Python"))
    proposer = programs.proposer(motion, "--arguments", "1")
    debate_id = debate_of(api, motion)
    opponent = programs.start(smallest, debate_id)
    assert_ends_well(proposer)
    _, said = opponent.communicate(timeout=60)
    assert (opponent.returncode, said) == (0, "")
    types = [argument["type"] for argument in api.transcript(debate_id)["arguments"]]
    assert types == ["CLAIM", "CLAIM", "CLAIM", "RESOLUTION", "RULING"]


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq")
def test_the_curl_commands_in_the_document_work_as_they_stand(api: Api) -> None:
    environment = {**os.environ, "DEBATE_SERVER_URL": url_of(api), "NO_PROXY": "127.0.0.1"}
    program = ("/bin/sh", "-eu", "-c", block("sh", "With curl"))
    ran = run_program(*program, cwd=REPOSITORY, env=environment, seconds=30)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-2:] == ["AWAITING_PROPOSER", "CLOSED"]


def test_the_watcher_prints_every_turn_once(programs: Programs, api: Api) -> None:
    debate_id, motion_id = a_dialogue(api)
    watcher = programs.start(EXAMPLES / "watch.py", debate_id)
    argue(api, debate_id, argue(api, debate_id, motion_id), path="resolution")
    output, complaints = watcher.communicate(timeout=60)
    assert (watcher.returncode, complaints) == (0, "")
    assert [line.partition(":")[0] for line in output.splitlines()] == [
        "1. proposer",
        "2. opponent",
        "3. proposer",
        "4. arbitrator",
    ]
