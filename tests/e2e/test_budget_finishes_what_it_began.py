"""With a budget, an experiment finishes the debates that it has begun before it begins more."""

from pathlib import Path
from typing import Any

import pytest
from experiment_runs import drafted, started, wait_status
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
    with model_place(make_place, tmp_path, claim_seconds=30) as here:
        here.models.count = lambda _: COUNTED
        at = started(here.api, {**SPEC, "budget_usd": BUDGET})
        stopped = wait_status(here.api, at, "stopped", 120)
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
