"""What an experiment with models costs: as it is estimated, and as it is shown, over documents of different sizes."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Caller, new_agent
from contributions import contribute, thread
from experiment_runs import drafted, exported, results, shown, wait_status
from harness import Api, Place, wait_until
from model_experiments import ARMS, CLAUDE, GPT, JUDGE, motions, of_its_length
from model_place import ModelPlace, model_place


def spec(name: str, given: list[dict[str, Any]], arms: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "contestants": [{"name": "gpt", "player": GPT}, {"name": "claude", "player": CLAUDE}],
        "judges": [{"name": "main", "player": JUDGE, "orders": "both"}],
        "arms": arms,
        "concurrency": 10,
        "motions": given,
    }


@pytest.fixture
def priced(make_place: Callable[[], Place], tmp_path: Path) -> Iterator[ModelPlace]:
    with model_place(make_place, tmp_path, workers=1, claim_seconds=60) as here:
        here.models.count = of_its_length
        yield here


def cost_of(api: Api, at: str) -> float:
    """Runs it to its end."""
    assert api.http.post(f"{at}/start").status_code == 200
    experiment = wait_status(api, at, "completed", 150)
    assert experiment["progress"]["matches"]["failed"] == experiment["progress"]["judgments"]["failed"] == 0
    cost: float = experiment["cost_usd"]
    return cost


def test_what_it_costs_is_within_the_interval_of_its_estimate(priced: ModelPlace) -> None:
    """The server has seen the models with small documents in every kind of call; then come documents of 50 bytes to
    50 kB, in arms that show them to debaters, to the judge, and to nobody."""
    first = drafted(priced.api, spec("seen", motions(2, lambda _: 5), {"interactive": ARMS["interactive"]}))
    assert shown(priced.api, first)["estimate"]["low_usd"] is None, "nothing of these models was seen"
    cost_of(priced.api, first)
    for name, seed in (("mixed", 2), ("large", 3)):
        smallest = 1 if name == "mixed" else 900
        given = motions(4, lambda chance, least=smallest: chance.randint(least, 1000), seed)
        at = drafted(priced.api, spec(name, given, ARMS))
        planned = priced.api.http.get(f"{at}/plan").json()["data"]["plan"]
        offered = {"spec": spec(f"{name} unsent", given, ARMS)}
        unsent = priced.api.http.post("/experiments/plan", json=offered).json()["data"]["plan"]
        assert unsent["expected_usd"] == pytest.approx(planned["expected_usd"]), "a plan knows the motions of its spec"
        cost = cost_of(priced.api, at)
        assert planned["low_usd"] <= cost <= planned["high_usd"], (name, planned, cost)
        assert planned["high_usd"] < 1.6 * planned["low_usd"], "an interval that says something"
        assert cost <= planned["at_most_usd"]
        assert shown(priced.api, at)["estimate"]["low_usd"] == pytest.approx(cost), "nothing is left"


def text_of(here: ModelPlace, path: str) -> str:
    answer = here.api.http.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 200, answer.text
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text))


def test_costs_failures_and_seconds_are_those_of_the_calls_and_one_total(
    make_place: Callable[[], Place], tmp_path: Path
) -> None:
    """One call at a time: all others wait for its slot. Some are refused, and one answer is cut off, and paid for."""
    with model_place(make_place, tmp_path, workers=1, claim_seconds=60, model_concurrency=1) as here:
        here.models.count = of_its_length
        here.models.seconds = 0.15
        here.models.plan("gpt-4o-mini", "500", "500", "used_up")
        here.models.plan("gpt-4o", "500", "500")
        at = drafted(here.api, spec("failures", motions(1, lambda _: 5), {"debate": ARMS["debate"]}))
        began = time.monotonic()
        cost = cost_of(here.api, at)
        elapsed = time.monotonic() - began
        found = results(here.api, at)["costs"]
        assert found["total_usd"] == cost > 0
        parts = [*found["contestants"], *found["judges"], found["arbitrator"]]
        assert found["other_usd"] > 0, "the answer that was cut off"
        assert sum(each["cost_usd"] for each in parts) + found["other_usd"] == pytest.approx(cost)
        [(debates, judgments)] = here.place.sql(
            "SELECT (SELECT sum(cost_usd) FROM debates), (SELECT sum(cost_usd) FROM judgments)"
        )
        assert debates + judgments == pytest.approx(cost)
        assert f"{cost:.2f}" in text_of(here, at) or f"{cost:.4f}" in text_of(here, at)
        assert sum(sum(each["failures"].values()) for each in parts) == 5
        assert all(each["mean_seconds"] > 0.1 for each in parts)
        # One call at a time: with what they waited for the slot they would add up to more than the whole run.
        assert sum(each["calls"] * each["mean_seconds"] for each in parts) < elapsed


def test_the_cost_of_players_without_a_price_is_unknown_and_not_nothing(priced: ModelPlace) -> None:
    given = spec("unpriced", motions(1, lambda _: 5), {"debate": {"format": "final_ruling", "rounds": 1}})
    given["contestants"][0]["player"] = "openai:a-model-without-a-price"
    at = drafted(priced.api, given)
    assert shown(priced.api, at)["cost_usd"] == 0, "nothing was called yet"
    assert priced.api.http.post(f"{at}/start").status_code == 200
    assert wait_status(priced.api, at, "completed")["cost_usd"] is None
    costs = results(priced.api, at)["costs"]
    assert (costs["total_usd"], costs["other_usd"]) == (None, None)
    known = {each["contestant"]: each["cost_usd"] for each in costs["contestants"]}
    assert (known["gpt"], known["claude"] > 0) == (None, True)
    assert "some prices are unknown" in text_of(priced, at)
    assert {row["cost_usd"] for row in exported(priced.api, at, "debates")} == {None}
    assert all(row["cost_usd"] > 0 for row in exported(priced.api, at, "judgments"))
    turns = [row for row in exported(priced.api, at, "turns") if row["type"] != "MOTION"]
    assert {row["player"] for row in turns if row["cost_usd"] is None} == {"openai:a-model-without-a-price"}
    assert {row["player"] for row in turns if row["cost_usd"]} == {CLAUDE, JUDGE}


def spent_today(here: ModelPlace) -> dict[str, Any]:
    found: dict[str, Any] = here.api.http.get("/system/status").json()["data"]["work"]["money_today"]
    return found


def test_what_was_spent_today_has_turns_judgments_and_the_guardrail(
    make_place: Callable[[], Place], tmp_path: Path
) -> None:
    """Without a limit for a day, too."""
    with model_place(make_place, tmp_path, workers=1, claim_seconds=60, guardrail=GPT) as here:
        here.models.count = of_its_length
        given = spec("today", motions(1, lambda _: 5), {"debate": {"format": "final_ruling", "rounds": 1}})
        cost = cost_of(here.api, drafted(here.api, given))
        today = spent_today(here)
        assert (today["spent_usd"], today["limit_usd"]) == (pytest.approx(cost), None)
        assert f"Spent today ${cost:.4f}" in text_of(here, "/system")

        here.models.say = lambda _: '{"reasons": [], "verdict": "approved"}'
        agent = new_agent(Caller(here.api, None))
        contribute(agent, thread(agent), "The buses stop at nine, and nurses leave at ten in the evening.")
        evaluated = "SELECT count(verdict) FROM guardrail_evaluations"
        wait_until(lambda: here.place.sql(evaluated) == [(2,)], 60, "the solution and the contribution are evaluated")
        assert spent_today(here)["spent_usd"] > cost * 1.0001
        here.models.say, cost = None, spent_today(here)["spent_usd"]
        given = {**given, "name": "unpriced", "judges": [{"name": "main", "player": "openai:a-model-without-a-price"}]}
        known = cost + held_unpriced(here, drafted(here.api, given))
        today = spent_today(here)
        assert (today["spent_usd"], today["known_usd"]) == (None, pytest.approx(known))
        assert today["unpriced_calls"] == 4, "two rulings and two judgments"
        assert f"Spent today at least ${known:.4f} 4 calls without a known price" in text_of(here, "/system")
        assert_no_debate_says_that_it_cost_nothing(here)


def held_unpriced(here: ModelPlace, at: str) -> float:
    """Returns what the players with a price have cost."""
    assert here.api.http.post(f"{at}/start").status_code == 200
    wait_status(here.api, at, "completed")
    return float(sum(each["cost_usd"] for each in results(here.api, at)["costs"]["contestants"]))


def assert_no_debate_says_that_it_cost_nothing(here: ModelPlace) -> None:
    [debate_id, *_] = [row[0] for row in here.place.sql("SELECT debate_id FROM judgments WHERE cost_usd = 0")]
    assert here.api.debate(str(debate_id))["usage"]["cost_usd"] is None
    judged = here.api.http.get(f"/debates/{debate_id}/judgments").json()["data"]["judgments"]
    assert [one["usage"]["cost_usd"] for one in judged] == [None]
    turns = here.api.transcript(str(debate_id))["arguments"]
    assert [turn["usage"]["cost_usd"] is None for turn in turns if turn["usage"]] == [False, False, True]
    for path in (f"/debates/{debate_id}/view", "/"):
        assert "unknown" in text_of(here, path)
        assert "$0 " not in text_of(here, path)
