"""An experiment as researchers run one: models, arms, hidden documents and a budget, from a file to its report."""

import csv
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_home import Home
from experiment_runs import ExperimentCli, assert_well, path_of
from harness import Api, Place, wait_until
from model_experiments import ARMS, CLAUDE, GPT, JUDGE, motions, of_its_length
from model_place import ModelPlace, model_place

BROWSER = {"Accept": "text/html,application/xhtml+xml"}
MATCHES = {"debate": 2, "at_once": 2, "interactive": 2, "consultancy": 4, "blind": 1, "informed": 1}
"""Of two contestants on one question: each on each side, each for each answer, or the judge alone."""


@dataclass
class Study(ExperimentCli):
    """The file of an experiment, which grows, and the command that runs it."""

    document: dict[str, Any] = field(default_factory=dict)

    def save(self) -> str:
        (self.directory / "study.yaml").write_text(yaml.safe_dump(self.document, sort_keys=False))
        return "study.yaml"


def questions(first: int, count: int) -> list[dict[str, Any]]:
    return motions(count, lambda chance: chance.randrange(5, 400), seed=first, first=first)


def a_study(cli: Home, arms: list[str], motions: int) -> Study:
    contestants = [
        {"name": "gpt", "player": GPT, "max_tokens": 300},
        {"name": "claude", "player": CLAUDE, "max_tokens": 300, "persona": "a careful reader"},
    ]
    document = {
        "name": "study",
        "contestants": contestants,
        "judges": [{"name": "main", "player": JUDGE, "orders": "both", "max_tokens": 300}],
        "arms": {name: _rules(name) for name in arms},
        "language": "English",
        "budget_usd": 20,
        "concurrency": 10,
        "seed": 7,
        "motions": questions(0, motions),
    }
    return Study(cli, document)


def _rules(arm: str) -> dict[str, Any]:
    return {name: 1 if name == "rounds" else value for name, value in ARMS[arm].items()}


@pytest.fixture
def study_place(make_place: Callable[[], Place], tmp_path: Path) -> Iterator[ModelPlace]:
    # A lease that expires because the machine is busy would repeat calls, and this walk counts them.
    with model_place(make_place, tmp_path, workers=2, claim_seconds=60) as here:
        here.models.count = of_its_length
        yield here


@pytest.fixture
def api(study_place: ModelPlace) -> Api:
    return study_place.api


def progress(study: Study) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = study.json("show", "study")["progress"]
    return found


def assert_ran(here: ModelPlace, study: Study, matches: int) -> None:
    """Each match ended once with its judgments, and the experiment has paid for exactly the calls that were made."""
    assert progress(study)["matches"] == {"planned": 0, "running": 0, "completed": matches, "failed": 0}
    assert_well(here.place)
    [(spent, reserved)] = here.place.sql("SELECT spent_usd, reserved_usd FROM experiments WHERE name = 'study'")
    assert (spent > 0, reserved) == (True, pytest.approx(0, abs=1e-9))
    [(debates, judgments)] = here.place.sql(
        "WITH held AS (SELECT id, cost_usd FROM debates WHERE experiment_id ="
        " (SELECT id FROM experiments WHERE name = 'study'))"
        " SELECT sum(cost_usd), (SELECT sum(cost_usd) FROM judgments WHERE debate_id IN (SELECT id FROM held))"
        " FROM held"
    )
    assert float(spent) == pytest.approx(float(debates) + float(judgments), rel=1e-6)


def assert_interrupted_runs_continue(here: ModelPlace, study: Study) -> None:
    here.models.seconds = 0.1
    following = study.home.start("experiment", "run", study.save(), "--yes")
    begun = "SELECT count(*) > 3 FROM turns WHERE seq > 1"
    wait_until(lambda: here.place.sql(begun) == [(True,)], 60, "the experiment has begun")
    following.send(signal.SIGINT)
    assert following.end() == 130
    here.models.seconds = 0
    calls = len(here.models.calls)
    said = study.well("run", study.save(), "--yes")
    assert len(here.models.calls) > calls, "the experiment was not over"
    assert "accuracy" in said.lower()


def assert_reported(study: Study, arms: list[str]) -> None:
    found = study.json("results", "study")
    assert {arm["arm"] for arm in found["arms"]} == set(arms)
    assert all(0 <= arm["accuracy"] <= 1 for arm in found["arms"])
    costs = found["costs"]
    rows = [*costs["contestants"], *costs["judges"], costs["arbitrator"]]
    assert all(isinstance(each["input_tokens"], int) for each in rows)
    assert costs["total_usd"] == pytest.approx(sum(each["cost_usd"] for each in rows) + costs["other_usd"])
    assert costs["total_usd"] == study.json("show", "study")["cost_usd"]
    for said in (study.well("results", "study"), study.well("report", "study")):
        assert all(arm in said for arm in arms)
    study.well("report", "study", "--output", "report.html", "--force")
    assert "<svg" in (study.directory / "report.html").read_text()
    assert (
        study.well("matches", "study", "--limit", "1000").count("completed") == progress(study)["matches"]["completed"]
    )


def assert_same(found: Any, expected: Any, where: str) -> None:
    """To the last digits: sums of the same numbers in another order differ there."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for name, value in expected.items():
            assert_same(found[name], value, f"{where}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            assert_same(found[number], value, f"{where}[{number}]")
    else:
        assert found == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected), where


def assert_exported_and_read_back(study: Study, arms: list[str], copy: str) -> None:
    """A file of judgments gives the results that the server gives, here and imported into the server again."""
    figures = ("arms", "differences", "judges", "agreement", "ratings")
    server = study.json("results", "study")
    for form in ("csv", "jsonl"):
        study.well("export", "study", "--format", form, "--output", f"judgments.{form}", "--force")
        offline = study.json("results", f"judgments.{form}")
        for part in figures:
            assert_same(offline[part], server[part], f"{form}: {part}")
    with (study.directory / "judgments.csv").open(newline="") as stream:
        assert {row["arm"] for row in csv.DictReader(stream)} == set(arms)
    study.well("import", "judgments.csv", "--name", copy)
    imported = study.json("results", copy)
    assert_same(imported["arms"], server["arms"], "imported")
    study.well("export", copy, "--output", "again.csv", "--force")
    assert_same(study.json("results", "again.csv")["arms"], server["arms"], "exported again")
    for one, other in (("study", copy), ("judgments.csv", "again.csv"), ("study", "judgments.jsonl")):
        assert "motions" in study.well("compare", one, other)
    for what, form in (("debates", "jsonl"), ("turns", "csv")):
        study.well("export", "study", "--what", what, "--format", form, "--output", f"{what}.{form}", "--force")


def assert_pages_show(here: ModelPlace, study: Study, arms: list[str], copy: str) -> None:
    at = path_of(here.api, "study")
    matches = here.api.http.get(f"{at}/matches", params={"limit": 200}).json()["data"]["matches"]
    debate = next(match for match in matches if match["arm"] == "debate")["debate_id"]
    paths = ("/experiments", at, f"{at}/debates", f"{at}/pair/{debate}", f"{at}/judge", "/system")
    compared = f"{at}/compare?with={path_of(here.api, copy).rpartition('/')[2]}"
    pages = {path: here.api.http.get(path, headers=BROWSER) for path in (*paths, compared, f"/d/{debate}")}
    for path, answer in pages.items():
        if answer.status_code == 404 and path.startswith("/d/"):
            continue
        assert answer.status_code == 200, (path, answer.text)
        assert "text/html" in answer.headers["Content-Type"], path
    assert all(arm in pages[at].text for arm in arms)
    assert pages[at].text.count("<svg") > 0


def walk(here: ModelPlace, cli: Home, arms: list[str], motions: int) -> None:
    study = a_study(cli, arms[:-1], motions)
    planned = study.json("plan", study.save())
    each = sum(MATCHES[arm] for arm in arms[:-1])
    assert (planned["matches"], planned["judgments"]) == (motions * each, 2 * motions * each)
    assert here.place.sql("SELECT count(*) FROM experiments") == [(0,)], "a plan makes nothing"
    assert_interrupted_runs_continue(here, study)
    assert_ran(here, study, motions * each)
    assert_reported(study, arms[:-1])
    calls = len(here.models.calls)
    assert "Nothing is left to run" in study("run", study.save(), "--yes").stderr
    assert len(here.models.calls) == calls, "the same file again costs nothing"

    # More motions, a judge and an arm.
    study.document["motions"] += questions(motions, 1)
    study.document["judges"].append({"name": "second", "player": GPT, "max_tokens": 300})
    study.document["arms"][arms[-1]] = _rules(arms[-1])
    each += MATCHES[arms[-1]]
    study.well("run", study.save(), "--yes")
    assert_ran(here, study, (motions + 1) * each)
    assert progress(study)["judgments"]["completed"] == 3 * (motions + 1) * each
    assert_reported(study, arms)
    assert_exported_and_read_back(study, arms, "copy")
    assert_pages_show(here, study, arms, "copy")


def test_a_study_with_models_runs_from_its_file_to_its_report(study_place: ModelPlace, cli: Home) -> None:
    walk(study_place, cli, ["debate", "consultancy", "blind", "informed"], 2)


@pytest.mark.long
def test_a_study_of_six_arms_runs_from_its_file_to_its_report(study_place: ModelPlace, cli: Home) -> None:
    walk(study_place, cli, ["debate", "at_once", "interactive", "consultancy", "informed", "blind"], 12)
