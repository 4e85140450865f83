"""`debate up` and `debate run` keep alive what they started: programs are killed, and what they did goes on."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_home import Command, Home, new_home
from harness import Api, wait_until

from app.cli.children import Child, RestartPolicy, Supervisor
from app.cli.errors import CommandFailed
from app.settings import Settings
from debate_client import Client, Retries

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
pytestmark = [pytest.mark.long, needs_proc]


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home(DEBATE_CLAIM_SECONDS="2") as made:
        yield made


def children_of(program: int, *words: str) -> dict[int, str]:
    """The direct children of a process whose command line has these words, oldest first."""
    found = {}
    for pid in sorted(int(entry) for entry in os.listdir("/proc") if entry.isdigit()):
        try:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(bytes(1), b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if parent == program and all(word in line for word in words):
            found[pid] = line
    return found


def workers_of(command: Command) -> list[int]:
    return list(children_of(command.process.pid, "-m worker"))


def api_of(command: Command) -> int:
    [pid] = children_of(command.process.pid, "gunicorn")
    return pid


def servers_of(home: Home) -> dict[str, int]:
    """Empty while they are not all ready."""
    try:
        facts = json.loads((home.data_dir / "servers.json").read_text())
    except FileNotFoundError:
        return {}
    return {name: facts[f"{name}_pid"] for name in ("guardian", "postgres", "valkey")}


def hold_debate(home: Home) -> None:
    """With the retries of a client that has to do with servers that come back."""
    with Client(f"http://127.0.0.1:{home.port}", "", retries=Retries((1,) * 60)) as client:
        debate = client.create("Programs should come back", format="rounds").debate
        assert len(list(client.watch(debate.id))) == 10
        assert client.debate(debate.id).status == "completed"


def test_a_killed_worker_is_started_again_and_nothing_else_ends(home: Home) -> None:
    up = home.start("up", "--workers", "2")
    up.wait_for("logs ", 90)
    first, second = workers_of(up)
    before = servers_of(home)
    serving = api_of(up)

    os.kill(first, signal.SIGKILL)
    up.wait_for("Worker 1 ended (killed by SIGKILL); restarting in 0.5 s")
    up.wait_for("Restarted worker 1")
    wait_until(lambda: len(workers_of(up)) == 2, 60, "two workers run")
    assert second in workers_of(up)
    assert first not in workers_of(up)
    assert (api_of(up), servers_of(home)) == (serving, before)

    # The one that is left of the first two goes as well: the one that came anew does the work.
    os.kill(second, signal.SIGKILL)
    up.wait_for("Worker 2 ended (killed by SIGKILL)")
    hold_debate(home)

    up.send(signal.SIGTERM)
    assert up.end(60) == 0, up.stderr
    assert "Traceback" not in up.stderr
    home.wait_until_nothing_runs()


def test_killed_guardian_and_killed_api_come_back_at_the_same_addresses(home: Home) -> None:
    up = home.start("up")
    up.wait_for("logs ", 90)
    api = Api.at(home.port)
    hold_debate(home)
    before, serving, workers = servers_of(home), api_of(up), workers_of(up)
    where = (home.data_dir / "servers.json").read_text()

    os.kill(before["guardian"], signal.SIGKILL)
    up.wait_for("Embedded Postgres and Valkey ended (their guardian process is gone)")
    up.wait_for("Restarted embedded Postgres and Valkey", 60)
    after = servers_of(home)
    assert not set(after.values()) & set(before.values())
    addresses = ("database_url", "redis_url")
    now = json.loads((home.data_dir / "servers.json").read_text())
    assert {name: now[name] for name in addresses} == {name: json.loads(where)[name] for name in addresses}
    hold_debate(home)
    # They have reconnected by themselves.
    assert (api_of(up), workers_of(up)) == (serving, workers)
    assert len(api.http.get("/debates").json()["data"]["debates"]) == 2

    orphans = children_of(serving)
    os.kill(serving, signal.SIGKILL)
    up.wait_for("API ended (killed by SIGKILL)")
    up.wait_for("Restarted API", 60)
    # The killed master's processes end a little later, and until then may take a connection and drop it.
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans), 60, "they have ended")
    api = Api.at(home.port)
    wait_until(api.is_up, 60, "the API is back on its port")
    hold_debate(home)

    up.send(signal.SIGINT)
    assert up.end(60) == 0, up.stderr
    assert "Traceback" not in up.stderr
    home.wait_until_nothing_runs()


def test_a_worker_that_is_killed_during_debate_run_is_started_again(home: Home) -> None:
    run = home.start("run", "The worker dies", "--rounds", "1", "--think", "2")
    run.wait_for("Motion", 90)
    [worker] = workers_of(run)
    os.kill(worker, signal.SIGKILL)
    assert run.end(90) == 0, run.stderr
    assert "Worker 1 ended (killed by SIGKILL); restarting" in run.stderr
    assert "all rounds finished" in run.stdout
    home.wait_until_nothing_runs()


def test_a_part_by_itself_brings_the_servers_back_too(home: Home) -> None:
    part = home.start("api")
    api = Api.at(home.port)
    wait_until(api.is_up, 90, "the API answers")
    os.kill(servers_of(home)["guardian"], signal.SIGKILL)
    part.wait_for("Restarted embedded Postgres and Valkey", 60)
    wait_until(lambda: api.http.get("/debates").status_code == 200, 60, "debates are listed")
    part.send(signal.SIGTERM)
    assert part.end(60) == 0, part.stderr
    home.wait_until_nothing_runs()


# The policy itself, with programs that end as soon as they are started.

QUICK = RestartPolicy(first_pause_seconds=0.01, max_pause_seconds=0.04, healthy_seconds=60, max_deaths=5)


def child_that_runs(code: str, log: Path | None = None) -> Child:
    return Child("program", [sys.executable, "-c", code], Settings(), log)


@pytest.fixture
def supervised() -> Iterator[Callable[..., tuple[Supervisor, list[str]]]]:
    begun: list[Supervisor] = []

    def begin(policy: RestartPolicy, *children: Child) -> tuple[Supervisor, list[str]]:
        said: list[str] = []
        supervisor = Supervisor(said.append, policy)
        begun.append(supervisor)
        for child in children:
            supervisor.add(child)
        supervisor.supervise()
        return supervisor, said

    yield begin
    for supervisor in begun:
        supervisor.end()


def test_a_program_that_dies_again_and_again_is_given_up_with_its_last_words(supervised, tmp_path: Path) -> None:
    log = tmp_path / "program.log"
    lasting = child_that_runs("import time; time.sleep(600)")
    dying = child_that_runs("import sys; sys.exit('no money left')", log)
    supervisor, said = supervised(QUICK, dying, lasting)

    with pytest.raises(CommandFailed, match=r"ended 5 times in a row.*exit code 1") as caught:
        supervisor.wait(60)

    assert caught.value.exit_code == 1
    assert "no money left" in caught.value.message
    pauses = [line.rpartition(" in ")[2] for line in said if "ended" in line]
    assert pauses == ["0.01 s", "0.02 s", "0.04 s", "0.04 s"]
    # What each of them said is kept, and nothing is left running.
    assert log.read_text().count("no money left") == 5
    assert lasting.process.poll() is not None


def test_a_healthy_life_makes_up_for_earlier_deaths(supervised) -> None:
    policy = RestartPolicy(first_pause_seconds=0.01, max_pause_seconds=10, healthy_seconds=0, max_deaths=2)
    supervisor, said = supervised(policy, child_that_runs("pass"))

    wait_until(lambda: sum("ended" in line for line in said) >= 4, 60, "it has died four times")

    supervisor.wait(0)
    assert {line.rpartition(" in ")[2] for line in said if "ended" in line} == {"0.01 s"}


def test_ending_is_not_taken_for_a_death(supervised) -> None:
    child = child_that_runs("import time; time.sleep(600)")
    supervisor, said = supervised(QUICK, child)
    supervisor.end()
    supervisor.end()
    assert child.process.poll() is not None
    assert said == []
