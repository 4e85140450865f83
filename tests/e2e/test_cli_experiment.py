"""`debate experiment …` against a real server: from a file to its results, extended, steered, exported, deleted."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from cli_home import Home
from experiment_runs import ExperimentCli, path_of
from harness import Api, Place, wait_until

CONTESTANTS = ["{name: strong, player: scripted, skill: 2}", "{name: weak, player: scripted}"]
JUDGES = ["{name: fair, player: scripted, orders: both}"]
Rows = list[tuple[Any, ...]]


class Cli(ExperimentCli):
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
def experiments(cli: Home) -> Cli:
    return Cli(cli)


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


def test_the_example_runs_to_its_results(experiments: Cli, worker: Place) -> None:
    assert "demo/experiment.yaml" in experiments.well("init", "demo")
    assert experiments("init", "demo").code == 1, "nothing is overwritten"
    planned = experiments.well("plan", "demo/experiment.yaml")
    assert "debates        60\n" in planned
    assert "judgments      240\n" in planned
    assert "budget         none\n" in planned
    assert worker.sql("SELECT 1 FROM experiments WHERE name = 'demo'") == [], "a plan makes nothing"
    assert experiments("run", "demo/experiment.yaml").code == 1, "nobody can be asked here"
    ran = experiments("run", "demo/experiment.yaml", "--yes")
    assert ran.code == 0, ran.stderr
    assert "From 240 judgments of 60 debates by 2 judges on 10 motions." in ran.stdout
    assert ran.stdout.index("strong") < ran.stdout.index("weak")
    assert re.search(r"^Page: http://\S+/experiments/[0-9a-f-]{36}/view$", ran.stderr, re.MULTILINE)
    progress = re.findall(r"^(\d+) of (\d+) debates, (\d+) of (\d+) judgments, \$0", ran.stderr, re.MULTILINE)
    assert {(debates, judgments) for _, debates, _, judgments in progress} == {("60", "240")}, "one denominator"
    assert progress[-1] == ("60", "60", "240", "240")
    disagree = experiments.well("matches", "demo", "--disagree", "--limit", "1").splitlines()
    [shown] = [line.removeprefix("Debate ").removesuffix(":") for line in disagree if line.startswith("Debate ")]
    assert disagree[1].endswith(f"  {shown}")
    opinions = [
        re.fullmatch(r"  (fair|hasty) \((as spoken|swapped)\): (proposer|opponent|tie)", line) for line in disagree[4:]
    ]
    assert [each and each[1] for each in opinions] == ["fair", "fair", "hasty", "hasty"]
    assert len({each and each[3] for each in opinions}) > 1


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"rounds": 2}, "fixed.yaml, line 4: rounds: "),
        ({"seed": 8}, "fixed.yaml, line 11: seed: "),
        ({"format": "simultaneous"}, "fixed.yaml, line 12: format: "),
    ],
)
def test_a_file_that_would_mix_two_experiments_is_refused(
    experiments: Cli, module_place: Place, change: dict[str, Any], line: str
) -> None:
    assert experiments("run", experiments.write("fixed", 1)).code == 1, "drafted, and nobody can be asked"
    before = module_place.sql("SELECT spec FROM experiments WHERE name = 'fixed'")
    refused = experiments("run", experiments.write("fixed", 1, **change), "--yes")
    assert refused.code != 0
    assert line in refused.stderr
    assert "two experiments" in refused.stderr
    assert "Give the experiment a new name" in refused.stderr
    assert module_place.sql("SELECT spec FROM experiments WHERE name = 'fixed'") == before


def test_a_player_that_only_the_server_can_refuse_is_refused_with_its_line(
    experiments: Cli, module_place: Place
) -> None:
    contestants = [CONTESTANTS[0], '{name: own, player: "lab:llama"}']
    refused = experiments("run", experiments.write("unknown", 1, contestants=contestants), "--yes")
    assert refused.code == 1
    assert "unknown.yaml, line 8: " in refused.stderr
    assert "unknown player 'lab:llama'" in refused.stderr
    assert module_place.sql("SELECT count(*) FROM experiments WHERE name = 'unknown'") == [(0,)]


@pytest.mark.long
def test_it_is_steered_shown_and_deleted(experiments: Cli, api: Api, worker: Place) -> None:
    slow = [one.replace("scripted", "scripted, think_seconds: 0.3") for one in CONTESTANTS]
    file = experiments.write("steered", 6, contestants=slow, concurrency=2)
    assert experiments("run", file).code == 1, "drafted, and nobody can be asked"
    at = path_of(api, "steered")
    experiment_id = at.rpartition("/")[2]
    assert api.http.post(f"{at}/start").status_code == 200
    assert "steered is paused." in experiments.well("pause", "steered")
    running = "SELECT count(*) FROM matches WHERE status = 'running' AND experiment_id = %s"
    wait_until(lambda: worker.sql(running, experiment_id) == [(0,)], 60, "those under way are finished")
    assert experiments.json("show", "steered")["progress"]["matches"]["planned"] > 0
    assert "steered is running." in experiments.well("resume", "steered")
    assert "steered is stopped by a person." in experiments.well("stop", "steered")
    [listed] = [line for line in experiments.well("list").splitlines() if line.startswith("steered ")]
    assert "stopped by a person" in listed
    # What the list shows of the id is enough to name it.
    assert experiments.json("show", listed.split()[-1])["id"] == experiment_id
    stopped = experiments("watch", "steered")
    assert stopped.code == 1
    assert "run it again" in stopped.stderr
    left = worker.sql("SELECT debate_id FROM matches WHERE status = 'running' AND experiment_id = %s", experiment_id)
    answers = [api.http.post(f"/debates/{debate_id}/stop", json={}) for (debate_id,) in left]
    # The turns under way may have been the last ones of their debates.
    failed = [answer for answer in answers if answer.json()["data"]["debate"]["status"] == "stopped"]
    ended = experiments("run", file, "--yes")
    assert ended.code == 0, ended.stderr
    assert experiments.json("show", "steered")["progress"]["matches"]["failed"] == len(failed)
    assert "The debate was stopped" in experiments.well("matches", "steered", "--status", "failed") or not failed
    says = f"{len(failed)} failed matches" if failed else "Nothing has failed."
    assert says in experiments.well("retry-failed", "steered")
    assert "Nothing has failed." in experiments.well("retry-failed", "steered")
    assert experiments("watch", "steered").code == 0
    assert experiments.json("show", "steered")["progress"]["matches"]["completed"] == 12
    assert "second judges." in experiments.well("judge", "steered", "--player", "scripted", "--name", "second")
    assert experiments.json("watch", "steered")["experiment"]["progress"]["judgments"]["completed"] == 48
    invited = experiments.json("invite", "steered", "--name", "ana", "--expires-in-hours", "1")
    assert (invited["judge"], "/join/" in invited["url"]) == ("person:ana", True)
    assert "/join/" in experiments("invite", "steered", "--name", "ben").stdout
    assert experiments("invite", "steered", "--name", " ").code == 1
    listed = experiments.json("invitations", "list", "steered")["invitations"]
    assert [one["judge"] for one in listed] == ["person:ben", "person:ana"]
    assert "is revoked" in experiments("invitations", "revoke", "steered", "--invitation", invited["id"]).stdout
    assert invited["id"] not in experiments("invitations", "list", "steered").stdout
    assert experiments("delete", "steered").code == 2, "nobody can be asked here"
    assert "steered is deleted." in experiments.well("delete", "steered", "--yes")
    assert worker.sql("SELECT count(*) FROM debates WHERE experiment_id = %s", experiment_id) == [(0,)]
    gone = experiments("show", "steered")
    assert (gone.code, "No experiment is named 'steered'" in gone.stderr) == (1, True)
