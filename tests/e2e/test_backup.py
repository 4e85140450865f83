"""docs/backup.md, done: a dump while debates run, a fresh server, and the debates go on from there."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from harness import REPOSITORY, OwnValkey, Place, assert_all_is_well, wait_until

from app.embedded import EmbeddedServers
from app.embedded.binaries import postgres_program
from scripts.breaking.history import History, read

PAGE = (REPOSITORY / "docs" / "backup.md").read_text()
THINKING = {role: {"player": "scripted", "think_seconds": 0.2} for role in ("proposer", "opponent", "arbitrator")}


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[str]:
    """The address of an empty database on a Postgres that has never been used."""
    with EmbeddedServers(tmp_path / "fresh") as urls:
        yield urls.database_url


def commands(heading: str) -> list[str]:
    """The first block of commands below a heading of the page."""
    section = PAGE.split(f"## {heading}\n")[1]
    [block] = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)[:1]
    return list(block.splitlines())


def run(command: str, directory: Path, database_url: str) -> str:
    """As a person would, with Postgres' programs and ours on the path; what it printed."""
    program, *arguments = shlex.split(command.replace("$DEBATE_DATABASE_URL", database_url))
    ours = [sys.executable, "-m", "app.cli"] if program == "debate" else [str(postgres_program(program))]
    # No Redis is needed for any of this.
    servers = {"DEBATE_DATABASE_URL": database_url, "DEBATE_REDIS_URL": "redis://127.0.0.1:9/0"}
    environment = {**os.environ, **servers, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([*ours, *arguments], cwd=directory, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_dump_taken_under_load_restores_and_its_debates_go_on(
    place: Place, fresh_server: str, tmp_path: Path
) -> None:
    api = place.start_api()
    place.start_worker()
    created = {api.create(seats=THINKING, limits={"max_rounds": 6})["id"] for _ in range(20)}
    wait_until(lambda: place.sql("SELECT count(*) FROM turns")[0][0] > 60, 60, "turns are taken")
    [backup] = commands("Back up")
    run(backup, tmp_path, str(place.settings.database_url))
    place.end_programs()

    restore, upgrade, repair = commands("Restore")
    run(restore, tmp_path, fresh_server)
    dumped = read(fresh_server)
    assert {str(debate_id) for debate_id in dumped} == created
    assert any(history.debate["status"] == "running" for history in dumped.values()), "it was taken under load"
    assert "already" in run(upgrade, tmp_path, fresh_server)
    assert run(repair, tmp_path, fresh_server).splitlines()[1:] == ["Every cursor is correct."]

    valkey = OwnValkey(tmp_path)
    valkey.start()
    restored = Place(place.settings.with_changes(database_url=fresh_server, redis_url=valkey.url))
    try:
        restored.start_worker()
        with psycopg.connect(fresh_server, autocommit=True) as connection:
            left = "SELECT count(*) FROM debates WHERE status <> 'completed'"
            wait_until(lambda: connection.execute(left).fetchone() == (0,), 90, "every debate has ended")
    finally:
        restored.end_programs()
        valkey.stop()
    assert_all_is_well(restored)
    ended = read(fresh_server)
    assert all(
        spoken(ended[debate_id])[: len(spoken(history))] == spoken(history) for debate_id, history in dumped.items()
    )


def spoken(history: History) -> list[str]:
    return [str(turn["id"]) for turn in history.turns]
