"""`debate up`, and each kind of process that runs under it killed once: debates that were under way end all the same.

What supervision says about it is in test_cli_supervision.py, and every moment of a turn in test_failpoints.py.
"""

import json
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import psutil
import pytest
from cli_home import Command, Home, new_home
from harness import Api, assert_whole, is_gone, new_debate, wait_until

# A turn that is being thought about when the process dies, and those after it.
THINKING = {role: {"player": "scripted", "think_seconds": 0.5} for role in ("proposer", "opponent", "arbitrator")}


@dataclass
class Running:
    home: Home
    up: Command
    api: Api

    def child(self, words: str) -> psutil.Process:
        """Of `debate up`, by its command line."""
        [found] = [one for one in psutil.Process(self.up.process.pid).children() if words in " ".join(one.cmdline())]
        return found

    def server(self, name: str) -> psutil.Process:
        facts = json.loads((self.home.data_dir / "servers.json").read_text())
        return psutil.Process(facts[f"{name}_pid"])


KILLED: dict[str, Callable[[Running], psutil.Process]] = {
    "worker": lambda running: running.child("-m worker"),
    "API's serving process": lambda running: running.child("gunicorn").children()[0],
    "API's master": lambda running: running.child("gunicorn"),
    "Postgres": lambda running: running.server("postgres"),
    "Valkey": lambda running: running.server("valkey"),
    "guardian": lambda running: running.server("guardian"),
}


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with new_home(DEBATE_CLAIM_SECONDS="2") as home:
        up = home.start("up")
        up.wait_for("logs ", 90)
        yield Running(home, up, Api(httpx.Client(base_url=f"http://127.0.0.1:{home.port}", timeout=60)))


@pytest.mark.parametrize("which", KILLED)
def test_a_debate_ends_whole_although_a_process_is_killed(running: Running, which: str) -> None:
    wait_until(lambda: find(running, which) is not None, 60, f"the {which} runs")
    debate_id = begun(running)
    victim = find(running, which)
    assert victim is not None
    os.kill(victim.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(victim), 60, f"the {which} is gone")
    wait_until(lambda: is_completed(running.api, debate_id), 90, "the debate ends")
    assert_whole(running.api.transcript(debate_id), rounds=1)
    assert running.up.process.poll() is None


def test_a_debate_ends_whole_after_debate_up_itself_is_killed_and_started_again(running: Running) -> None:
    debate_id = begun(running)
    os.kill(running.up.process.pid, signal.SIGKILL)
    running.home.wait_until_nothing_runs()
    running.up = running.home.start("up")
    running.up.wait_for("logs ", 90)
    wait_until(lambda: is_completed(running.api, debate_id), 90, "the debate ends")
    assert_whole(running.api.transcript(debate_id), rounds=1)


def find(running: Running, which: str) -> psutil.Process | None:
    """None while it is being started again."""
    with suppress(FileNotFoundError, ValueError, IndexError, psutil.NoSuchProcess):
        return KILLED[which](running)
    return None


def begun(running: Running) -> str:
    """A debate whose first turn is stored, and whose second is being thought about."""
    body = new_debate(seats=THINKING, limits={"max_rounds": 1})
    body["debate_id"] = debate_id = str(uuid.uuid4())
    wait_until(lambda: bool(debate_of(running.api, "POST", "/debates", body)), 90, "a debate is created")
    wait_until(lambda: argument_count(running.api, debate_id) > 1, 90, "its first turn is stored")
    return debate_id


def argument_count(api: Api, debate_id: str) -> int:
    return int(debate_of(api, "GET", f"/debates/{debate_id}").get("argument_count", 0))


def is_completed(api: Api, debate_id: str) -> bool:
    return debate_of(api, "GET", f"/debates/{debate_id}").get("status") == "completed"


def debate_of(api: Api, method: str, path: str, body: object = None) -> dict[str, Any]:
    """Empty while nobody answers, or the servers are unavailable."""
    try:
        answer = api.http.request(method, path, json=body)
    except httpx.TransportError:
        return {}
    assert answer.is_success or answer.status_code == httpx.codes.SERVICE_UNAVAILABLE, answer.text
    debate: dict[str, Any] = answer.json()["data"]["debate"] if answer.is_success else {}
    return debate
