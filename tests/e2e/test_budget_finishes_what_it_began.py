"""With a budget, an experiment finishes the debates that it has begun before it begins more."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli_home import new_home, url_of
from experiment_runs import ExperimentCli, assert_well, drafted, path_of, shown, wait_status
from model_place import model_place

BUDGET = 0.25
MOTIONS = 6
COUNTED = {"prompt_tokens": 1000, "completion_tokens": 400, "total_tokens": 1400}
MODELS = [{"name": name, "player": f"openai:{name}", "max_tokens": 500} for name in ("gpt-4o", "gpt-4o-mini")]
SPEC = {
    "name": "budget",
    "contestants": MODELS,
    "judges": [{"name": "judge", "player": "openai:gpt-4o", "orders": "both", "max_tokens": 500}],
    "rounds": 2,
    "concurrency": 50,
    "motions": [{"id": f"m{n}", "motion": f"Motion {n}."} for n in range(MOTIONS)],
}


@pytest.mark.timeout(300)
def test_a_budget_stop_leaves_whole_debates_and_says_how_to_raise_it(make_place: Any, tmp_path: Path) -> None:
    with (
        model_place(make_place, tmp_path, claim_seconds=30) as here,
        new_home(DEBATE_SERVER_URL=url_of(here.api)) as home,
    ):
        here.models.count = lambda _: COUNTED
        cli = ExperimentCli(home)
        (cli.directory / "budget.yaml").write_text(json.dumps({**SPEC, "budget_usd": BUDGET}))
        ran = cli("run", "budget.yaml", "--yes")
        assert ran.code == 1
        assert "budget" in ran.stderr
        at = path_of(here.api, "budget")
        stopped = shown(here.api, at)
        assert stopped["status"] == "stopped"
        assert "gpt-4o-mini" in cli.well("results", "budget"), "what it has is reported"
        assert stopped["stop_reason"] == "budget"
        progress = stopped["progress"]
        assert progress["matches"]["running"] <= 1
        assert progress["matches"]["completed"] >= 4
        assert progress["judgments"]["completed"] >= 2 * (progress["matches"]["completed"] - 1)
        assert BUDGET / 2 < stopped["cost_usd"] <= BUDGET
        assert "Raise budget_usd" in stopped["stop_note"]
        page = here.api.http.get(f"{at}/view", headers={"Accept": "text/html"}).text
        assert "Raise budget_usd" in page
        assert drafted(here.api, {**SPEC, "budget_usd": 50}) == at
        assert here.api.http.post(f"{at}/start").json()["data"]["experiment"]["stop_note"] is None
        assert wait_status(here.api, at, "completed", 120)["progress"]["matches"]["completed"] == 2 * MOTIONS
        assert_well(here.place)
