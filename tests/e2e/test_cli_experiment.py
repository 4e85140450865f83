"""`debate experiment …` against a real server: from a file to its results, extended, steered, exported, deleted."""

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import prefork
import pytest
from arro3.io import read_parquet
from harness import REPOSITORY, Api, Place, wait_until

CONTESTANTS = ["{name: strong, player: scripted, skill: 2}", "{name: weak, player: scripted}"]
JUDGES = ["{name: fair, player: scripted, orders: both}"]
Rows = list[tuple[Any, ...]]


@dataclass
class Ended:
    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        assert self.code == 0, self.stderr
        return json.loads(self.stdout)


@dataclass
class Cli:
    directory: Path
    server: str

    def __call__(self, *arguments: str) -> Ended:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("DEBATE_")}
        environment = {**inherited, "PYTHONPATH": str(REPOSITORY), "DEBATE_SERVER_URL": self.server, "COLUMNS": "80"}
        arguments = ("experiment", *arguments)
        ran = prefork.run("app.cli", [*arguments], env=environment, cwd=self.directory, stdin=None, timeout=120)
        ended = Ended(ran.returncode, ran.stdout.decode(), ran.stderr.decode())
        assert "Traceback" not in ended.stderr
        return ended

    def well(self, *arguments: str) -> str:
        """What it says."""
        ended = self(*arguments)
        assert ended.code == 0, ended.stderr
        return ended.stdout

    def write(self, name: str, motions: int, **changes: Any) -> str:
        """An experiment's file with so many motions."""
        spec = {"rounds": 1, "concurrency": 10, "contestants": CONTESTANTS, "judges": JUDGES, "seed": 7, **changes}
        lines = [f"name: {name}", "motions:", *(f"  - {{id: m{n}, motion: Motion {n}.}}" for n in range(motions))]
        for key, value in spec.items():
            if isinstance(value, list):
                lines += [f"{key}:", *(f"  - {each}" for each in value)]
            else:
                lines.append(f"{key}: {value}")
        (self.directory / f"{name}.yaml").write_text("\n".join(lines) + "\n")
        return f"{name}.yaml"


@pytest.fixture
def cli(api: Api, tmp_path: Path) -> Cli:
    return Cli(tmp_path, str(api.http.base_url).rstrip("/"))


@pytest.fixture
def worker(module_place: Place) -> Iterator[Place]:
    started = module_place.start_worker()
    yield module_place
    started.terminate()
    started.wait(60)


def held(place: Place, name: str) -> Rows:
    """All that an experiment has made: debates, turns and judgments."""
    of = "experiment_id = (SELECT id FROM experiments WHERE name = %s)"
    return place.sql(
        f"SELECT (SELECT array_agg(id ORDER BY id) FROM debates WHERE {of}),"  # noqa: S608 (a constant)
        f" (SELECT count(*) FROM turns JOIN debates ON debates.id = debate_id WHERE {of}),"
        f" (SELECT array_agg(id ORDER BY id) FROM judgments WHERE {of})",
        *[name] * 3,
    )


def test_the_example_runs_to_its_results(cli: Cli, worker: Place) -> None:
    assert "demo/experiment.yaml" in cli.well("init", "demo")
    assert cli("init", "demo").code == 1, "nothing is overwritten"
    planned = cli.well("plan", "demo/experiment.yaml")
    assert "debates        60\n" in planned
    assert "judgments      240\n" in planned
    assert "budget in USD  none\n" in planned
    assert worker.sql("SELECT 1 FROM experiments WHERE name = 'demo'") == [], "a plan makes nothing"
    assert cli("run", "demo/experiment.yaml").code == 1, "nobody can be asked here"
    said = cli.well("run", "demo/experiment.yaml", "--yes")
    assert "From 240 judgments of 60 debates by 2 judges on 10 motions." in said
    assert said.index("strong") < said.index("weak")


@pytest.mark.long
def test_the_same_file_again_holds_only_what_is_new(cli: Cli, worker: Place) -> None:
    file = cli.write("grown", 2)
    first = cli("run", file, "--yes", "--json").document
    assert first["experiment"]["progress"]["judgments"]["completed"] == 8
    before = held(worker, "grown")
    again = cli("run", file)
    assert again.code == 0, "there is nothing to ask about"
    assert "Nothing is left to run." in again.stderr
    assert held(worker, "grown") == before, "no new debate, and no call"
    cli.write("grown", 2, judges=[*JUDGES, "{name: second, player: scripted}"])
    plan = cli("run", file, "--dry-run", "--json").document
    assert (plan["matches"], plan["judgments"]) == (0, 4), "only the new judge's"
    # A motion, a contestant and a judge more: 3 motions x 3 pairs x 2 sides, 4 of them held; 3 judgments each, 8 made.
    more = [*CONTESTANTS, "{name: third, player: scripted, skill: 1}"]
    cli.write("grown", 3, contestants=more, judges=[*JUDGES, "{name: second, player: scripted}"])
    plan = cli("run", file, "--dry-run", "--json").document
    assert (plan["matches"], plan["judgments"]) == (14, 54 - 8)
    assert held(worker, "grown") == before, "a dry run holds nothing"
    [(judges, motions)] = worker.sql(
        "SELECT jsonb_array_length(spec -> 'judges'),"
        " (SELECT count(*) FROM motions WHERE experiment_id = experiments.id) FROM experiments WHERE name = 'grown'"
    )
    assert (judges, motions) == (len(JUDGES), 2), "and adds nothing"
    assert cli("run", file, "--yes").code == 0
    [(debates, _, judgments)] = held(worker, "grown")
    assert (len(debates), len(judgments)) == (18, 54)
    [(old_debates, _, old_judgments)] = before
    assert set(old_debates) < set(debates)
    assert set(old_judgments) < set(judgments)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"rounds": 2}, "fixed.yaml, line 4: rounds: "),
        ({"seed": 8}, "fixed.yaml, line 11: seed: "),
        ({"format": "simultaneous"}, "fixed.yaml, line 12: format: "),
    ],
)
def test_a_file_that_would_mix_two_experiments_is_refused(
    cli: Cli, module_place: Place, change: dict[str, Any], line: str
) -> None:
    assert cli("run", cli.write("fixed", 1)).code == 1, "drafted, and nobody can be asked"
    before = module_place.sql("SELECT spec FROM experiments WHERE name = 'fixed'")
    refused = cli("run", cli.write("fixed", 1, **change), "--yes")
    assert refused.code != 0
    assert line in refused.stderr
    assert "two experiments" in refused.stderr
    assert "Give the experiment a new name" in refused.stderr
    assert module_place.sql("SELECT spec FROM experiments WHERE name = 'fixed'") == before


def test_a_player_that_only_the_server_can_refuse_is_refused_with_its_line(cli: Cli, module_place: Place) -> None:
    contestants = [CONTESTANTS[0], '{name: own, player: "lab:llama"}']
    refused = cli("run", cli.write("unknown", 1, contestants=contestants), "--yes")
    assert refused.code == 1
    assert "unknown.yaml, line 8: " in refused.stderr
    assert "unknown player 'lab:llama'" in refused.stderr
    assert module_place.sql("SELECT count(*) FROM experiments WHERE name = 'unknown'") == [(0,)]


@pytest.mark.long
def test_it_is_steered_shown_and_deleted(cli: Cli, api: Api, worker: Place) -> None:
    slow = [one.replace("scripted", "scripted, think_seconds: 0.3") for one in CONTESTANTS]
    file = cli.write("steered", 6, contestants=slow, concurrency=2)
    assert cli("run", file).code == 1, "drafted, and nobody can be asked"
    [(experiment_id,)] = worker.sql("SELECT id FROM experiments WHERE name = 'steered'")
    at = f"/experiments/{experiment_id}"
    assert api.http.post(f"{at}/start").status_code == 200
    assert "steered is paused." in cli.well("pause", "steered")
    running = "SELECT count(*) FROM matches WHERE status = 'running' AND experiment_id = %s"
    wait_until(lambda: worker.sql(running, experiment_id) == [(0,)], 60, "those under way are finished")
    assert cli("show", "steered", "--json").document["progress"]["matches"]["planned"] > 0
    assert "steered is running." in cli.well("resume", "steered")
    assert "steered is stopped: manual stop." in cli.well("stop", "steered")
    [listed] = [line for line in cli.well("list").splitlines() if line.startswith("steered ")]
    assert "stopped: manual stop" in listed
    # What the list shows of the id is enough to name it.
    assert cli("show", listed.split()[-1], "--json").document["id"] == str(experiment_id)
    stopped = cli("watch", "steered")
    assert stopped.code == 1
    assert "run it again" in stopped.stderr
    left = worker.sql("SELECT debate_id FROM matches WHERE status = 'running' AND experiment_id = %s", experiment_id)
    answers = [api.http.post(f"/debates/{debate_id}/stop", json={}) for (debate_id,) in left]
    # The turns under way may have been the last ones of their debates.
    failed = [answer for answer in answers if answer.json()["data"]["debate"]["status"] == "stopped"]
    ended = cli("run", file, "--yes")
    assert ended.code == 0, ended.stderr
    assert cli("show", "steered", "--json").document["progress"]["matches"]["failed"] == len(failed)
    assert "The debate was stopped" in cli.well("matches", "steered", "--status", "failed") or not failed
    says = f"{len(failed)} failed matches" if failed else "Nothing has failed."
    assert says in cli.well("retry-failed", "steered")
    assert "Nothing has failed." in cli.well("retry-failed", "steered")
    assert cli("watch", "steered").code == 0
    assert cli("show", "steered", "--json").document["progress"]["matches"]["completed"] == 12
    assert "second judges." in cli.well("judge", "steered", "--player", "scripted", "--name", "second")
    assert cli("watch", "steered", "--json").document["experiment"]["progress"]["judgments"]["completed"] == 48
    invited = cli("invite", "steered", "--name", "ana", "--expires-in-hours", "1", "--json").document
    assert (invited["judge"], "/join/" in invited["url"]) == ("person:ana", True)
    assert "/join/" in cli("invite", "steered", "--name", "ben").stdout
    assert cli("invite", "steered", "--name", " ").code == 1
    listed = cli("invitations", "list", "steered", "--json").document["invitations"]
    assert [one["judge"] for one in listed] == ["person:ben", "person:ana"]
    assert "is revoked" in cli("invitations", "revoke", "steered", "--invitation", invited["id"]).stdout
    assert invited["id"] not in cli("invitations", "list", "steered").stdout
    assert cli("delete", "steered").code == 2, "nobody can be asked here"
    assert "steered is deleted." in cli.well("delete", "steered", "--yes")
    assert worker.sql("SELECT count(*) FROM debates WHERE experiment_id = %s", experiment_id) == [(0,)]
    gone = cli("show", "steered")
    assert (gone.code, "No experiment is named 'steered'" in gone.stderr) == (1, True)


def rows_in(path: Path) -> int:
    if path.suffix == ".parquet":
        return int(read_parquet(path).read_all().num_rows)
    with path.open(newline="") as stream:
        return len([json.loads(line) for line in stream] if path.suffix == ".jsonl" else list(csv.DictReader(stream)))


@pytest.mark.long
def test_it_is_exported_reported_imported_and_compared(cli: Cli, worker: Place) -> None:
    assert cli("run", cli.write("data", 3), "--yes").code == 0
    rows = list(csv.DictReader(cli("export", "data").stdout.splitlines()))
    assert len(rows) == 12
    assert {row["judge"] for row in rows} == {"fair"}
    wanted = {"debates": (6, ("jsonl",)), "turns": (24, ("csv", "parquet")), "judgments": (12, ("csv", "jsonl"))}
    for what, (count, forms) in wanted.items():
        for form in forms:
            file = f"{what}.{form}"
            assert cli("export", "data", "--what", what, "--format", form, "--output", file).code == 0
            assert rows_in(cli.directory / file) == count
    assert cli("export", "data", "--output", "turns.csv").code == 1, "nothing is overwritten"
    found = cli("results", "data", "--json").document
    offline = cli("results", "judgments.csv", "--json").document
    for part in ("ratings", "matrix", "sides"):
        assert found[part] == offline[part], "the same data gives the same results without a server"
    assert "●" in cli.well("results", "data", "--plot")
    assert cli("report", "data", "--output", "report.html").code == 0
    assert "<svg" in (cli.directory / "report.html").read_text()
    assert "## Ratings" in cli("report", "data").stdout
    assert "12 judgments" in cli.well("import", "judgments.csv", "--name", "elsewhere")
    assert "motions" in cli.well("compare", "data", "elsewhere")
    assert cli.well("matches", "data", "--contestant", "strong").count("completed") == 6
    assert cli("matches", "data", "--motion", "nothing").stdout == ""
