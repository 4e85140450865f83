"""No turn is paid for twice: a provider that counts its calls, through pauses, forks and the deaths of workers."""

from collections.abc import Iterator
from typing import Any

import pytest
from harness import assert_whole, wait_until
from model_place import ModelPlace, model_place
from model_server import INPUT_TOKENS
from seating import all_played_by

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
ROUNDS = 2
TURNS = 3 * ROUNDS


@pytest.fixture
def at(make_place: Any, tmp_path: Any) -> Iterator[ModelPlace]:
    with model_place(make_place, tmp_path, workers=0) as made:
        yield made


def debated_by(model: str) -> dict[str, Any]:
    return {"seats": all_played_by(f"openai:{model}"), "limits": {"max_rounds": ROUNDS}}


def paid(at: ModelPlace, debate_id: str, model: str, calls: int) -> dict[str, Any]:
    """The debate is whole, the provider was called so many times for it, and its cost says the same."""
    transcript = at.api.wait_closed(debate_id, 120)
    assert_whole(transcript, ROUNDS)
    assert len(at.models.calls_of(model)) == calls
    assert transcript["debate"]["usage"]["input_tokens"] == calls * INPUT_TOKENS
    return transcript


def test_a_pause_lets_the_turn_under_way_finish_and_a_resume_asks_for_the_next_one(at: ModelPlace) -> None:
    at.place.start_worker()
    at.models.seconds = 1.5
    debate_id = at.api.create(**debated_by("paused"))["id"]
    for number in range(1, 4):
        wait_until(lambda n=number: len(at.models.calls_of("paused")) == n, 60, f"call {number} has begun")
        assert at.api.http.post(f"/debates/{debate_id}/pause").json()["data"]["debate"]["status"] == "paused"
        wait_until(lambda n=number: at.api.debate(debate_id)["argument_count"] == n + 1, 60, "its turn is stored")
        assert at.api.debate(debate_id)["status"] == "paused"
        assert at.api.http.post(f"/debates/{debate_id}/resume").status_code == 200
    at.models.seconds = 0
    paid(at, debate_id, "paused", TURNS)


def test_a_pause_that_is_resumed_before_the_answer_came_asks_nobody_again(at: ModelPlace) -> None:
    at.place.start_worker()
    at.models.seconds = 2
    debate_id = at.api.create(**debated_by("hasty"))["id"]
    wait_until(lambda: len(at.models.calls_of("hasty")) == 1, 60, "the first call has begun")
    assert at.api.http.post(f"/debates/{debate_id}/pause").status_code == 200
    assert at.api.http.post(f"/debates/{debate_id}/resume").status_code == 200
    at.models.seconds = 0
    paid(at, debate_id, "hasty", TURNS)


def test_a_pause_now_cuts_the_call_off_and_its_cost_is_counted(at: ModelPlace) -> None:
    at.place.start_worker()
    at.models.plan("cut", "hang")
    debate_id = at.api.create(**debated_by("cut"))["id"]
    wait_until(lambda: len(at.models.calls_of("cut")) == 1, 60, "the first call has begun")
    assert at.api.http.post(f"/debates/{debate_id}/pause", json={"now": True}).status_code == 200
    [call] = at.models.calls_of("cut")
    wait_until(lambda: call.hung_up_at is not None, 60, "the call was cut off")
    wait_until(lambda: at.api.debate(debate_id)["usage"]["input_tokens"] > 0, 60, "what it cost is counted")
    assert at.api.debate(debate_id)["argument_count"] == 1
    assert at.api.http.post(f"/debates/{debate_id}/resume").status_code == 200
    transcript = at.api.wait_closed(debate_id, 120)
    assert len(at.models.calls_of("cut")) == TURNS + 1
    assert transcript["debate"]["usage"]["input_tokens"] > TURNS * INPUT_TOKENS
