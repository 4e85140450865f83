"""What may be said about models when a debate is created: what could never run is refused then, not an hour later."""

from typing import Any

import pytest
from harness import Api, new_debate

GPT = "openai:gpt-5-mini"


def answer(api: Api, seats: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return api.http.post("/debates", json=new_debate(seats=seats, **changes)).json()


@pytest.mark.parametrize(
    "player",
    [GPT, "anthropic:claude-sonnet-5", "google:gemini-3.5-flash", "groq:openai/gpt-oss-20b", "local", "openai:a:b@c"],
)
def test_a_model_may_fill_any_seat(api: Api, player: str) -> None:
    seat = {"player": player, "persona": "Calm", "temperature": 0.5, "max_tokens": 500}
    assert answer(api, {"proposer": seat})["data"]["debate"]["seats"]["proposer"]["player"] == player


@pytest.mark.parametrize(
    "player",
    ["openai", "openai:", "openai: gpt", "oracle:gpt", "OpenAI:gpt", "openai:gpt\n", "locals", "openai:-x", ":x"],
)
def test_a_player_that_nobody_could_run_is_refused(api: Api, player: str) -> None:
    error = answer(api, {"opponent": {"player": player}})["error"]
    assert (error["code"], error["field"]) == ("INVALID_INPUT", "seats.opponent.player")
    assert "unknown player" in error["message"]
    assert "`debate models` lists the providers" in error["message"]


@pytest.mark.parametrize("order", ["as_spoken", "swapped", "both"])
def test_a_model_that_judges_has_an_order(api: Api, order: str) -> None:
    stored = answer(api, {"arbitrator": {"player": GPT, "judge_order": order}})["data"]["debate"]["seats"]
    assert stored["arbitrator"] == {"player": GPT, "judge_order": order}


@pytest.mark.parametrize(
    ("seats", "words"),
    [
        ({"proposer": {"player": GPT, "judge_order": "both"}}, "an option of the arbitrator, not of the proposer"),
        ({"arbitrator": {"player": "scripted", "judge_order": "both"}}, "not an option of the player 'scripted'"),
        ({"arbitrator": {"player": "external", "judge_order": "both"}}, "not an option of the player 'external'"),
        ({"arbitrator": {"player": GPT, "judge_order": "backwards"}}, "judge_order"),
        ({"arbitrator": {"player": GPT, "think_seconds": 1}}, "think_seconds is not an option of the player"),
    ],
    ids=["debater", "scripted", "external", "unknown", "scripted's"],
)
def test_an_option_that_does_not_fit_is_refused(api: Api, seats: dict[str, Any], words: str) -> None:
    error = answer(api, seats)["error"]
    assert error["code"] == "INVALID_INPUT"
    assert words in error["message"]


@pytest.mark.parametrize("role", ["proposer", "opponent", "arbitrator"])
def test_a_cost_limit_needs_the_price_of_every_seat(api: Api, role: str) -> None:
    error = answer(api, {role: {"player": "openai:my-own-model"}}, limits={"max_cost_usd": 1})["error"]
    assert (error["code"], error["field"]) == ("INVALID_INPUT", f"seats.{role}.player")
    assert "no price is known for 'openai:my-own-model'" in error["message"]


@pytest.mark.parametrize("player", [GPT, "local", "scripted", "external"])
def test_what_has_a_price_or_costs_nothing_takes_a_cost_limit(api: Api, player: str) -> None:
    seats = {role: {"player": player} for role in ("proposer", "opponent", "arbitrator")}
    assert answer(api, seats, limits={"max_cost_usd": 1})["data"]["debate"]["limits"]["max_cost_usd"] == 1


def test_without_a_cost_limit_a_model_needs_no_price(api: Api) -> None:
    assert answer(api, {"proposer": {"player": "openai:my-own-model"}})["success"] is True
