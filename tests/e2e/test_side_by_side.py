"""The last released version, and today's, on one database while it is migrated."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from harness import Api, Place, assert_all_is_well, assert_whole, new_debate, numbers, wait_until
from releases import last_release, unpack

from app.cli.stack import free_port
from app.embedded import ServerUrls
from app.settings import child_environment
from app.store.migrate import newest_revision

# The released version is installed, five processes start, and debates go on through all of it.
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
THINKING = {role: {"player": "scripted", "think_seconds": 0.2} for role in ("proposer", "opponent", "arbitrator")}
ROUNDS = 3


@pytest.fixture(scope="module")
def old_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("released-version")
    unpack(last_release(), directory)
    # With the libraries of its own lock: it may need some that we no longer have.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("DEBATE_ENVIRONMENT", "PYTHONPATH")
    }
    install = [". scripts/environment.sh; make_environment run"]
    subprocess.run(["sh", "-euc", *install], cwd=directory, env=environment, check=True)  # noqa: S607
    # Once, and not by each of its processes while the others wait for it.
    python = directory / ".venv" / "bin" / "python"
    subprocess.run([python, "-m", "compileall", "-q", "app", "worker", "migrations"], cwd=directory, check=True)
    return directory


@pytest.fixture
def unmigrated(place: Place, servers: ServerUrls) -> Iterator[Place]:
    """With an empty database."""
    name = f"side_by_side_{next(numbers)}"
    with psycopg.connect(servers.database_url.replace("/debate?", "/postgres?"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    # Another place: this one may have a session of its database open already.
    made = Place(place.settings.with_changes(database_url=servers.database_url.replace("/debate?", f"/{name}?")))
    yield made
    made.end_programs()
    made.close_session()


def start_old(place: Place, code: Path, *command: str, **changes: Any) -> "subprocess.Popen[bytes]":
    environment = {**child_environment(place.settings.with_changes(**changes)), "PYTHONPATH": str(code)}
    program = subprocess.Popen(
        [code / ".venv" / "bin" / "python", *command],
        cwd=code,
        env=environment,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
    place.programs.append(program)
    return program


def start_old_api(place: Place, code: Path) -> Api:
    port = free_port("127.0.0.1")
    start_old(place, code, "-m", "app.cli", "api", server_port=port)
    api = Api(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False))
    wait_until(api.is_up, 60, "the old API answers")
    return api


class Load(threading.Thread):
    """Debates created all the time, through one API after another of those that there are."""

    def __init__(self, apis: list[Api]) -> None:
        super().__init__(daemon=True)
        self.apis = apis
        self.created: list[str] = []
        self.refused: list[str] = []
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.wait(0.3):
            api = self.apis[len(self.created) % len(self.apis)]
            answer = api.http.post("/debates", json=new_debate(seats=THINKING))
            if answer.status_code == 201:
                self.created.append(answer.json()["data"]["debate"]["id"])
            else:
                self.refused.append(answer.text)

    def end(self) -> None:
        self._enough.set()
        self.join(60)


def test_old_and_new_processes_run_side_by_side_while_the_database_is_migrated(
    unmigrated: Place, old_code: Path
) -> None:
    place = unmigrated
    assert start_old(place, old_code, "-m", "app.cli", "db", "upgrade").wait(120) == 0
    old = start_old_api(place, old_code)
    old_worker = start_old(place, old_code, "-m", "worker")
    wait_until(lambda: place.sql("SELECT count(*) FROM worker_leases") == [(1,)], 60, "the old worker has its lease")
    load = Load([old])
    load.start()

    wait_until(lambda: place.sql("SELECT count(*) FROM turns")[0][0] >= 15, 60, "the old worker takes turns")

    migrated = place.start([sys.executable, "-m", "app.cli", "db", "upgrade"])
    assert migrated.wait(120) == 0
    assert place.sql("SELECT version_num FROM alembic_version") == [(newest_revision(),)]
    # The old processes go on with the new schema …
    before = len(load.created)
    wait_until(lambda: len(load.created) >= before + 3, 60, "the old API still creates debates")
    by_the_old = load.created[-1]
    wait_until(lambda: old.debate(by_the_old)["status"] == "completed", 60, "the old worker finishes it")

    # … and after a restart: nobody who goes back a version has to undo the migration …
    old_worker.terminate()
    assert old_worker.wait(60) == 0
    old_worker = start_old(place, old_code, "-m", "worker")

    # … beside the new ones, which go on with the debates of the old, and the old with theirs.
    new = place.start_api()
    load.apis = [old, new]
    new_worker = place.start_worker()
    holders: set[int] = set()

    def both_hold_turns() -> bool:
        claimed = place.sql("SELECT split_part(claimed_by, ':', 2) FROM debates WHERE claimed_by IS NOT NULL")
        holders.update(int(pid) for (pid,) in claimed)
        return holders >= {old_worker.pid, new_worker.pid}

    wait_until(both_hold_turns, 60, "both workers hold turns")
    load.end()
    wait_until(lambda: unfinished(place) == 0, 90, "every debate has ended")
    assert load.refused == []
    for debate_id in load.created:
        transcript = new.transcript(debate_id)
        assert_whole(transcript, ROUNDS)
        assert len(old.transcript(debate_id)["arguments"]) == len(transcript["arguments"])
    assert_all_is_well(place)
    assert all(program.poll() is None for program in (old_worker, new_worker))


def unfinished(place: Place) -> int:
    [(number,)] = place.sql("SELECT count(*) FROM debates WHERE status NOT IN ('completed', 'stopped', 'failed')")
    return int(number)
