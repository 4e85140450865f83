"""Whole debates between models, on real workers, against a provider on this machine that speaks their wires."""

import json
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from harness import assert_whole, wait_until
from model_place import ModelPlace, model_place
from model_server import INPUT_TOKENS, OUTPUT_TOKENS, REASONING, SECRET, SPEECH, ruling

GPT, CLAUDE = "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-6"
GPT_CALL = 100 * 0.15e-6 + 20 * 0.6e-6
CLAUDE_CALL = 100 * 3e-6 + 20 * 15e-6
"""Dollars, from the published prices of a million tokens: $0.15 and $0.60, $3 and $15."""
SCORES = {
    "proposer": {"proposer": 8, "opponent": 5},
    "opponent": {"proposer": 5, "opponent": 8},
    "tie": {"proposer": 6.5, "opponent": 6.5},
}
pytestmark = pytest.mark.timeout(300)


def seats(proposer: str, opponent: str, arbitrator: str, **judge: Any) -> dict[str, dict[str, Any]]:
    return {
        "proposer": {"player": proposer},
        "opponent": {"player": opponent},
        "arbitrator": {"player": arbitrator, **judge},
    }


@pytest.fixture(scope="module")
def at(make_place: Any, tmp_path_factory: Any) -> Iterator[ModelPlace]:
    # Claims that are renewed rarely: what ends a call soon after a stop is not their renewal.
    with model_place(make_place, tmp_path_factory.mktemp("debates"), claim_seconds=240) as made:
        yield made


@pytest.fixture(autouse=True)
def _behaves(at: ModelPlace) -> Iterator[None]:
    yield
    at.models.pieces_pause, at.models.rule = 0, None


def test_a_rounds_debate_with_right_totals(at: ModelPlace) -> None:
    debate_id = at.api.create(seats=seats(GPT, CLAUDE, GPT), limits={"max_rounds": 2, "max_cost_usd": 1})["id"]
    transcript = at.api.wait_closed(debate_id, 100)
    assert_whole(transcript, rounds=2)
    debate, turns = transcript["debate"], transcript["arguments"]
    assert (debate["status"], debate["stop_reason"]) == ("completed", "max_rounds")
    assert [turn["player"] for turn in turns] == 2 * [GPT, CLAUDE, GPT]
    assert [turn["content"] for turn in turns] == 2 * [SPEECH, SPEECH, REASONING]
    for turn in turns:
        assert (turn["usage"]["input_tokens"], turn["usage"]["output_tokens"]) == (INPUT_TOKENS, OUTPUT_TOKENS)
        assert turn["usage"]["cost_usd"] == pytest.approx(CLAUDE_CALL if turn["player"] == CLAUDE else GPT_CALL)
        assert turn["usage"]["latency_ms"] >= 0
    assert debate["usage"]["input_tokens"] == 6 * INPUT_TOKENS
    assert debate["usage"]["output_tokens"] == 6 * OUTPUT_TOKENS
    assert debate["usage"]["cost_usd"] == pytest.approx(4 * GPT_CALL + 2 * CLAUDE_CALL)
    verdict = {"winner": "proposer", "scores": {"proposer": 8, "opponent": 5}, "reasoning": REASONING, "stop": False}
    assert turns[2]["verdict"] == {**verdict, "confidence": None, "scope": "round"}
    assert debate["verdict"] == turns[-1]["verdict"] == {**verdict, "confidence": None, "scope": "debate"}
    assert debate["standing"] == {"scores": verdict["scores"], "leader": "proposer", "rounds": 1}
    assert all(call.body["stream"] for call in at.models.calls)


def test_a_dialogue_in_which_the_proposer_chooses_its_moves(at: ModelPlace) -> None:
    debate_id = at.api.create(format="dialogue", seats=seats(CLAUDE, GPT, CLAUDE))["id"]
    transcript = at.api.wait_closed(debate_id, 100)
    types = [turn["type"] for turn in transcript["arguments"]]
    assert types == ["CLAIM", "CLAIM", "CLAIM", "APPEAL", "RULING", "RESOLUTION", "RULING"]
    assert transcript["debate"]["stop_reason"] == "resolution"
    assert transcript["debate"]["usage"]["cost_usd"] == pytest.approx(2 * GPT_CALL + 4 * CLAUDE_CALL)


def test_a_judge_that_finds_it_decided_ends_the_debate(at: ModelPlace) -> None:
    at.models.rule = lambda _: ruling("opponent", stop=True)
    debate = at.api.wait_closed(at.api.create(seats=seats("scripted", "scripted", GPT))["id"], 100)["debate"]
    assert (debate["status"], debate["stop_reason"], debate["next_round"]) == ("completed", "judge_early_stop", 2)
    assert debate["verdict"]["winner"] == "opponent"


def first_of_the_last_round(document: dict[str, Any]) -> str:
    last = max(turn["round"] for turn in document["turns"])
    return next(turn["seat"] for turn in document["turns"] if turn["round"] == last)


@pytest.mark.parametrize(
    ("order", "favours", "winner", "shown"),
    [
        ("as_spoken", "who spoke first", "proposer", None),
        ("swapped", "who spoke first", "opponent", None),
        ("both", "who spoke first", "tie", {"as_spoken": "proposer", "swapped": "opponent"}),
        ("both", "nothing", "opponent", None),
    ],
)
def test_a_judge_is_shown_the_orders_that_were_asked_for(
    at: ModelPlace, order: str, favours: str, winner: str, shown: dict[str, str] | None
) -> None:
    """One that favours a position contradicts itself where it is shown both: that is a tie with both scores."""
    by_position = favours == "who spoke first"
    at.models.rule = lambda asked: ruling(first_of_the_last_round(asked) if by_position else "opponent")
    body = seats("scripted", "scripted", CLAUDE, judge_order=order)
    transcript = at.api.wait_closed(at.api.create(seats=body, limits={"max_rounds": 1})["id"], 100)
    verdict, usage = transcript["debate"]["verdict"], transcript["arguments"][-1]["usage"]
    assert (verdict["winner"], verdict["scope"]) == (winner, "debate")
    assert verdict["scores"] == SCORES[winner]
    orders = {name: {"winner": won, "scores": SCORES[won]} for name, won in (shown or {}).items()}
    assert verdict.get("orders", {}) == orders
    calls = 2 if order == "both" else 1
    assert (usage["input_tokens"], usage["output_tokens"]) == (calls * INPUT_TOKENS, calls * OUTPUT_TOKENS)
    assert usage["cost_usd"] == pytest.approx(calls * CLAUDE_CALL)


def test_a_limit_that_is_used_up_between_the_two_calls_for_one_ruling_makes_it_the_closing_one(at: ModelPlace) -> None:
    body = seats("scripted", "scripted", GPT, judge_order="both")
    debate_id = at.api.create(seats=body, limits={"max_total_tokens": INPUT_TOKENS})["id"]
    debate = at.api.wait_closed(debate_id, 100)["debate"]
    assert (debate["status"], debate["stop_reason"], debate["argument_count"]) == ("stopped", "token_limit", 4)
    # The call for the round, and the two for the whole debate.
    assert debate["usage"]["input_tokens"] == 3 * INPUT_TOKENS
    assert debate["verdict"]["scope"] == "debate"


@pytest.mark.parametrize(
    ("limits", "reason", "arguments"),
    [({"max_total_tokens": 130}, "token_limit", 3), ({"max_cost_usd": 1e-6}, "cost_limit", 1)],
)
def test_beyond_a_limit_no_call_is_made_but_for_the_closing_ruling(
    at: ModelPlace, limits: dict[str, Any], reason: str, arguments: int
) -> None:
    before = len(at.models.calls_of("gpt-4o-mini"))
    debate = at.api.wait_closed(at.api.create(seats=seats(GPT, GPT, GPT), limits=limits)["id"], 100)["debate"]
    assert (debate["status"], debate["stop_reason"]) == ("stopped", reason)
    assert len(at.models.calls_of("gpt-4o-mini")) - before == debate["argument_count"] - 1 == arguments
    assert (debate["verdict"] is not None) is (arguments == 3), "both sides have spoken"


@pytest.mark.parametrize("player", [GPT, CLAUDE])
def test_words_stream_to_watchers_at_most_ten_times_a_second(at: ModelPlace, player: str) -> None:
    at.models.pieces_pause = 0.03
    debate_id = str(uuid4())
    listener = at.place.redis().pubsub()
    listener.subscribe(f"debate:events:{debate_id}")
    at.api.create(debate_id=debate_id, seats=seats(player, player, player), limits={"max_rounds": 1})
    deltas: list[tuple[float, dict[str, Any]]] = []
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        message = listener.get_message(ignore_subscribe_messages=True, timeout=0.5)
        if not message:
            continue
        event = json.loads(message["data"])
        if event["event"] == "argument_delta":
            deltas.append((time.monotonic(), event["data"]))
        elif event["data"]["debate"]["state"] == "CLOSED":
            break
    listener.close()
    for role, whole in (("proposer", SPEECH), ("opponent", SPEECH), ("arbitrator", REASONING)):
        said = [data for _, data in deltas if data["role"] == role]
        assert len(said) >= 2
        assert all(set(data) == {"round", "role", "text"} and data["round"] == 1 for data in said)
        assert whole.startswith("".join(data["text"] for data in said))
    # What is sent ten times a second may arrive in bunches, but never more in all than that.
    took = deltas[-1][0] - deltas[0][0]
    assert len(deltas) <= 10 * took + 2


@pytest.mark.parametrize("player", [GPT, CLAUDE])
@pytest.mark.parametrize("command", ["stop", "pause", "delete"])
def test_a_stop_ends_the_request_within_a_second(at: ModelPlace, player: str, command: str) -> None:
    model = player.partition(":")[2]
    at.models.plan(model, "hang")
    before = len(at.models.calls_of(model))
    debate_id = at.api.create(seats=seats(player, player, player))["id"]
    wait_until(lambda: len(at.models.calls_of(model)) > before, 60, "the model was called")
    time.sleep(0.2)  # the answer hangs, with nothing streamed
    call = at.models.calls_of(model)[-1]
    told_at = time.monotonic()
    if command == "delete":
        at.api.http.delete(f"/debates/{debate_id}")
    else:
        at.api.http.post(f"/debates/{debate_id}/{command}", json={"now": True} if command == "pause" else None)
    wait_until(lambda: call.hung_up_at is not None, 60, "the server saw the client go")
    # About half a second on an idle machine; without the look at the claims it would be up to a minute.
    assert call.hung_up_at is not None
    assert call.hung_up_at - told_at < 20
    if command != "delete":
        assert at.api.debate(debate_id)["argument_count"] == 1
        assert at.log_lines("turn.failed", debate_id) == []


def test_no_key_prompt_or_answer_is_in_the_logs(at: ModelPlace) -> None:
    motion = "Motion-that-nobody-logs: cars are loud"
    debates = []
    for behaviour in ("401", "500", "wrong_schema", "invalid_json", "cut", "404", "400", "refusal"):
        at.models.plan(f"logged-{behaviour}", behaviour)
        body = seats(GPT, CLAUDE, f"openai:logged-{behaviour}", persona="Persona-that-nobody-logs")
        debates.append(at.api.create(seats=body, motion_content=motion, limits={"max_rounds": 1})["id"])
    for debate_id in debates:
        at.wait_ended(debate_id)
    log = at.log.read_text()
    assert "turn.failed" in log
    words = [
        SECRET,
        "nobody-logs",
        SPEECH,
        REASONING,
        "because",
        "of course",
        "You are the",
        "It said",
        "I cannot help",
    ]
    assert [word for word in words if word in log] == []
