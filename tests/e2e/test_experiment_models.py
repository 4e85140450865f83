"""An experiment with models as players, with arms and documents, through the command line: run, reported, exported."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from cli_home import new_home, url_of
from experiment_runs import ExperimentCli, exported, path_of, results
from model_place import ModelPlace, model_place
from test_cli_experiment import held

from app.core.experiments.imported import NOT_KEPT

NAMES = ("gpt-4o", "gpt-4o-mini")
MOTIONS = [
    {
        "id": f"m{n}",
        "motion": f"Question {n}?",
        "document": f"The answer {n} is yes.",
        "answer_a": "Yes.",
        "answer_b": "No.",
        "correct": "a",
    }
    for n in range(2)
]
SPEC = {
    "name": "models",
    "contestants": [{"name": name, "player": f"openai:{name}"} for name in NAMES],
    "judges": [{"name": "judge", "player": "openai:gpt-4o", "orders": "both"}],
    "arms": {
        "debate": {"format": "final_ruling", "rounds": 1},
        "consultancy": {"format": "consultancy", "rounds": 1},
        "informed": {"format": "direct", "document_visible_to": ["arbitrator"], "language": "French"},
    },
    "language": "German",
    "document_visible_to": ["proposer"],
    "motions": MOTIONS,
    "budget_usd": 5,
}


@pytest.fixture(scope="module")
def here(make_place: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelPlace]:
    with model_place(make_place, tmp_path_factory.mktemp("models")) as made:
        yield made


@pytest.fixture(scope="module")
def cli(here: ModelPlace) -> Iterator[ExperimentCli]:
    """Its folder has the file of an experiment that was run to its end."""
    with new_home(DEBATE_SERVER_URL=url_of(here.api)) as home:
        made = ExperimentCli(home)
        (made.directory / "models.yaml").write_text(json.dumps(SPEC))
        assert "14 debates" in made.well("run", "models.yaml", "--yes")
        yield made


def rows(here: ModelPlace, name: str, what: str) -> list[dict[str, Any]]:
    return exported(here.api, path_of(here.api, name), what)


def test_its_costs_are_numbers_and_are_shown(cli: ExperimentCli, here: ModelPlace) -> None:
    # Compared with /openapi.json, as every response of a test is.
    costs = results(here.api, path_of(here.api, "models"))["costs"]
    [judge] = costs["judges"]
    # The local provider counts the same for every call.
    assert (judge["input_tokens"], judge["output_tokens"]) == (100 * judge["calls"], 20 * judge["calls"])
    assert {one["contestant"] for one in costs["contestants"]} == set(NAMES)
    assert f"{120 * judge['calls']:,}" in cli.well("results", "models")
    assert "## All figures" in cli("report", "models").stdout


def test_what_stands_above_the_arms_applies_to_those_that_do_not_say_otherwise(
    cli: ExperimentCli, here: ModelPlace
) -> None:
    arms = {row["debate_id"]: row["arm"] for row in rows(here, "models", "debates")}
    debates = {debate_id: here.api.debate(debate_id) for debate_id in arms}
    languages = {(arms[debate_id], debate["language"]) for debate_id, debate in debates.items()}
    assert languages == {("debate", "German"), ("consultancy", "German"), ("informed", "French")}
    readers = {(arms[debate_id], *debate["material"]["visible_to"]) for debate_id, debate in debates.items()}
    assert readers == {("debate", "proposer"), ("consultancy", "proposer"), ("informed", "arbitrator")}
    asked = [call.instructions for call in here.models.calls]
    assert all("German" in words or "French" in words for words in asked)


def test_the_same_file_goes_on_and_an_arm_that_is_added_runs_alone(cli: ExperimentCli, here: ModelPlace) -> None:
    before, calls = held(here.place, "models"), len(here.models.calls)
    again = cli("run", "models.yaml", "--yes")
    assert (again.code, "Nothing is left to run." in again.stderr) == (0, True)
    assert (held(here.place, "models"), len(here.models.calls)) == (before, calls)
    grown = {**SPEC, "arms": {"at_once": {"format": "simultaneous", "rounds": 1}, **SPEC["arms"]}}
    (cli.directory / "grown.yaml").write_text(json.dumps(grown))
    assert cli.json("plan", "grown.yaml")["matches"] == 4
    assert cli.json("run", "grown.yaml", "--dry-run")["matches"] == 4
    assert held(here.place, "models") == before, "a dry run creates nothing"
    assert cli("run", "grown.yaml", "--yes").code == 0
    [(debates, _, judgments)] = held(here.place, "models")
    assert (set(debates) > set(before[0][0]), set(judgments) > set(before[0][2])) == (True, True)
    found = rows(here, "models", "debates")
    assert {row["arm"] for row in found if row["debate_id"] not in map(str, before[0][0])} == {"at_once"}
    for name, rules, words in (
        ("debate", {"format": "final_ruling", "rounds": 2}, "arms.debate.rounds: cannot be changed"),
        ("consultancy", {"format": "consultancy", "rounds": 1, "language": "Latin"}, "arms.consultancy.language"),
        ("at_once", None, "'at_once' was removed"),
    ):
        arms = {arm: kept for arm, kept in {**grown["arms"], name: rules}.items() if kept}
        (cli.directory / "changed.yaml").write_text(json.dumps({**SPEC, "arms": arms}))
        refused = cli("run", "changed.yaml", "--yes")
        assert (refused.code, words in refused.stderr) == (1, True), refused.stderr


NEW_WITH_AN_IMPORT = ("judgment_id", "debate_id", *NOT_KEPT)


def kept(found: list[dict[str, Any]]) -> list[str]:
    """All that an import keeps of exported rows, in one order."""
    return sorted(
        json.dumps({name: value for name, value in row.items() if name not in NEW_WITH_AN_IMPORT}) for row in found
    )


def test_what_is_exported_is_read_back_and_imported_with_its_arms(cli: ExperimentCli, here: ModelPlace) -> None:
    exported = rows(here, "models", "judgments")
    assert {row["arm"] for row in exported} >= set(SPEC["arms"])
    assert {row["proposer"] for row in exported if row["arm"] == "informed"} == {None}
    for form in ("csv", "jsonl", "parquet"):
        file, name = f"judgments.{form}", f"from-{form}"
        assert cli("export", "models", "--format", form, "--output", file).code == 0
        assert cli("import", file, "--name", name).code == 0
        assert kept(rows(here, name, "judgments")) == kept(exported)
    found, offline, imported = (cli.json("results", which) for which in ("models", "judgments.parquet", "from-csv"))
    for part in ("ratings", "matrix", "sides", "arms", "differences"):
        assert found[part] == offline[part], part
    assert (found["arms"], found["differences"]) == (imported["arms"], imported["differences"])
    assert cli("export", "models", "--output", "judgments.csv").code == 1, "nothing is overwritten"
    assert cli.well("matches", "models", "--contestant", "gpt-4o").count("completed") == 12
    assert cli.well("matches", "models", "--motion", "nothing") == ""
    for first, second in (("models", "from-csv"), ("judgments.csv", "judgments.jsonl")):
        assert "difference" in cli.well("compare", first, second)
