"""docs/backup.md, done: a dump while debates run, a fresh server, and the debates go on from there."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from experiment_runs import assert_whole, has_judged
from harness import REPOSITORY, OwnValkey, Place, assert_all_is_well, wait_until
from model_place import model_place
from model_server import INPUT_TOKENS
from seating import all_thinking
from test_experiment_workers import start

from app.embedded import EmbeddedServers
from app.embedded.binaries import postgres_program
from scripts.breaking.history import History, read

pytestmark = pytest.mark.long
PAGE = (REPOSITORY / "docs" / "backup.md").read_text()
THINKING = all_thinking(0.2)


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


MODELS = [{"name": name, "player": f"openai:{name}"} for name in ("gpt-4o", "gpt-4o-mini")]
JUDGES = [{"name": "judge", "player": "openai:gpt-4o", "orders": "both"}]
MOTIONS = 20
MATCHES, JUDGMENTS = 2 * MOTIONS, 4 * MOTIONS
# A model's turn and a model's judgment is one call each.
STORED_CALLS = """
SELECT (SELECT count(*) FROM turns WHERE player LIKE 'openai:%%') +
       (SELECT count(*) FROM judgments WHERE status = 'completed')
"""
CHARGED_TOKENS = """
SELECT (SELECT sum(input_tokens) FROM debates) + (SELECT sum(input_tokens) FROM judgments)
"""
UNDER_WAY = "SELECT count(*) FROM model_calls"


@pytest.mark.timeout(400)
def test_an_experiment_in_flight_goes_on_elsewhere_and_only_calls_under_way_are_paid_again(
    make_place: Any, fresh_server: str, tmp_path: Path
) -> None:
    # A lease that lapses because the machine is busy would repeat its calls, and they could not be told apart.
    with model_place(make_place, tmp_path, workers=2, claim_seconds=20) as here:
        here.models.seconds = 0.5
        start(here.api, "dumped", MOTIONS, contestants=MODELS, judges=JUDGES, concurrency=10)
        wait_until(lambda: has_judged(here.place, JUDGMENTS // 4), 120, "some of it is judged")
        wait_until(lambda: here.place.sql(UNDER_WAY)[0][0] > 3, 60, "calls are under way")
        begun = len(here.models.calls)
        [backup] = commands("Back up")
        run(backup, tmp_path, str(here.place.settings.database_url))
        # The machine is lost: what its workers did after the dump nobody has.
        for program in here.place.programs:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait(60)

        for command in commands("Restore"):
            run(command, tmp_path, fresh_server)
        valkey = OwnValkey(tmp_path)
        valkey.start()
        restored = Place(here.place.settings.with_changes(database_url=fresh_server, redis_url=valkey.url))
        [(stored,)], [(under_way,)] = restored.sql(STORED_CALLS), restored.sql(UNDER_WAY)
        assert under_way > 0
        assert begun - stored <= under_way, "what was called before the dump is in it, or was under way"
        lost = len(here.models.calls)
        try:
            restored.start_worker(claim_seconds=20)
            completed = "SELECT count(*) FROM experiments WHERE status = 'completed'"
            wait_until(lambda: restored.sql(completed) == [(1,)], 240, "the experiment has ended")
        finally:
            restored.end_programs()
            valkey.stop()
        assert_whole(restored, MATCHES, JUDGMENTS)
        [(wanted,)], [(charged,)] = restored.sql(STORED_CALLS), restored.sql(CHARGED_TOKENS)
        assert charged > wanted * INPUT_TOKENS, "what was under way is charged as well, guessed from its length"
        assert len(here.models.calls) - lost == wanted - stored, "what the dump has is not asked for again"


def spoken(history: History) -> list[str]:
    return [str(turn["id"]) for turn in history.turns]
