"""Models that misbehave, each in its own way: what the debate says, how often it is tried, and how it ends.

All debates are started together, so that their waits overlap; each test then looks at its own.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from harness import wait_until
from model_place import ModelPlace, model_place
from model_server import SECRET

TIMEOUT_SECONDS = 15
"""Long enough that a busy machine turns nothing else into a timeout."""
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Case:
    behaviour: str
    seat: str
    kind: str
    words: str
    wire: str = "openai"

    @property
    def model(self) -> str:
        return re.sub(r"\W+", "-", f"{self.behaviour}-{self.seat}-{self.wire}")

    def __str__(self) -> str:
        return self.model


TRIED_AGAIN = [
    Case("500", "proposer", "server", "the provider failed (HTTP 500). It said: Something broke on our side"),
    Case("hang", "proposer", "timeout", "no whole answer within 15 seconds"),
    Case("trickle", "opponent", "timeout", "no whole answer within 15 seconds"),
    Case("cut", "proposer", "broken_stream", "the connection broke in the middle of the answer"),
    Case("cut", "arbitrator", "broken_stream", "the connection broke in the middle of the answer", "anthropic"),
    Case("empty", "proposer", "answer", "the answer cannot be used: it is empty"),
    Case("empty", "arbitrator", "answer", "the answer cannot be used: it is empty"),
    Case("huge", "opponent", "too_long", "the answer went on past 65536 bytes and was cut off"),
    Case("huge", "arbitrator", "too_long", "the answer went on past 65536 bytes and was cut off", "anthropic"),
    Case("invalid_json", "arbitrator", "answer", "the answer cannot be used: it is not a JSON object"),
    Case("invalid_json", "arbitrator", "answer", "the answer cannot be used: it is not a JSON object", "anthropic"),
    Case("wrong_schema", "arbitrator", "answer", "the answer cannot be used: reasoning: Field required"),
    Case("wrong_schema", "arbitrator", "answer", "the answer cannot be used: reasoning: Field required", "anthropic"),
    Case("500", "arbitrator", "server", "the provider failed (HTTP 500)", "anthropic"),
    Case("hostile_error", "proposer", "server", "It said: A NUL \ufffd and half a pair \ufffd"),
    Case("hostile_error", "opponent", "server", "It said: A NUL \ufffd and half a pair \ufffd", "anthropic"),
    Case("used_up", "proposer", "answer", "it was cut off, because max_tokens (4096) was used up"),
    Case("used_up", "opponent", "answer", "it was cut off, because max_tokens (4096) was used up", "anthropic"),
    Case("tool_call", "opponent", "answer", "the answer cannot be used: it is empty"),
    Case("tool_call", "proposer", "answer", "the answer cannot be used: it is empty", "anthropic"),
    Case("tool_call", "arbitrator", "answer", "the answer cannot be used: it is empty", "anthropic"),
    Case("loose_types", "arbitrator", "answer", "scores.proposer: Input should be a valid number"),
    Case("loose_types", "arbitrator", "answer", "scores.proposer: Input should be a valid number", "anthropic"),
    Case("surrogate", "arbitrator", "answer", "the answer cannot be used: Invalid JSON"),
    Case("endless_line", "proposer", "too_long", "a line of the response went on past 1000000 bytes; it was cut off"),
    Case("endless_line", "opponent", "too_long", "a line of the response went on past 1000000 bytes", "anthropic"),
    Case("endless_error", "proposer", "too_long", "a line of the response went on past 1000000 bytes"),
    Case("endless_error", "opponent", "too_long", "a line of the response went on past 1000000 bytes", "anthropic"),
    Case("compressed", "proposer", "too_long", "the provider sent a compressed answer"),
]
FAILS_AT_ONCE = [
    Case("401", "proposer", "key", "the key was not accepted; check OPENAI_API_KEY of the workers (HTTP 401)."),
    Case("401", "opponent", "key", "the key was not accepted; check ANTHROPIC_API_KEY of the workers", "anthropic"),
    Case("404", "proposer", "model", "the provider has no such model; check its name (HTTP 404)."),
    Case("404", "arbitrator", "model", "the provider has no such model; check its name (HTTP 404).", "anthropic"),
    Case("400", "proposer", "rejected", "the provider rejects the request itself (HTTP 400). It said: max_tokens is"),
    Case("refusal", "arbitrator", "refused", "the model refused to answer, or the provider's content filter cut it"),
    Case("refusal", "proposer", "refused", "the model refused to answer", "anthropic"),
    Case("content_filter", "opponent", "refused", "the model refused to answer, or the provider's content filter"),
    Case("429_after_1000000000000", "proposer", "rate_limit", "(HTTP 429); it asks to wait for more than a year, more"),
    Case("429_after_7200", "opponent", "rate_limit", "it asks to wait for 120 minutes, more than the limit of an hour"),
    Case("429_after_Fri, 01 Jan 2099 00:00:00 GMT", "proposer", "rate_limit", "for more than a year", "anthropic"),
]
WITHOUT_A_CLIENT = "groq:llama-3.3-70b-versatile"
SPOKEN_BEFORE = {"proposer": 0, "opponent": 1, "arbitrator": 2}
Started = dict[str, str]


def seats_of(case: Case) -> dict[str, dict[str, str]]:
    return {role: {"player": "scripted"} for role in SPOKEN_BEFORE} | {
        case.seat: {"player": f"{case.wire}:{case.model}"}
    }


@pytest.fixture(scope="module")
def stage(make_place: Any, tmp_path_factory: Any) -> Iterator[tuple[ModelPlace, Started]]:
    directory = tmp_path_factory.mktemp("failures")
    with model_place(make_place, directory, model_timeout_seconds=TIMEOUT_SECONDS) as at:
        # The first call of each kind imports its client; that is not what is timed here.
        warm = {"proposer": "openai:warm", "opponent": "anthropic:warm", "arbitrator": "openai:warm"}
        seats = {role: {"player": player} for role, player in warm.items()}
        at.wait_status(at.api.create(seats=seats, limits={"max_rounds": 1})["id"], "completed", 200)
        started = {}
        for case in (*TRIED_AGAIN, *FAILS_AT_ONCE):
            at.models.plan(case.model, *5 * [case.behaviour])
            started[case.model] = at.api.create(seats=seats_of(case), limits={"max_rounds": 1})["id"]
        yield at, started


@pytest.mark.parametrize("case", TRIED_AGAIN, ids=str)
def test_what_may_pass_is_tried_five_times_and_then_the_debate_has_failed(stage: Any, case: Case) -> None:
    at, started = stage
    debate = at.wait_status(started[case.model], "failed", 200)
    assert debate["attempts"] == 5
    assert debate["last_error"].startswith(f"{case.wire}:{case.model}: ")
    assert case.words in debate["last_error"]
    assert debate["argument_count"] == 1 + SPOKEN_BEFORE[case.seat]
    assert debate["verdict"] is None
    calls = at.models.calls_of(case.model)
    assert len(calls) == 5
    failed = at.log_lines("turn.failed", debate["id"])
    assert [line["kind"] for line in failed] == 5 * [case.kind]
    assert [line["attempts"] for line in failed] == [1, 2, 3, 4, 5]
    waits = [line["wait_seconds"] for line in failed]
    assert all(longest / 2 <= wait <= longest for wait, longest in zip(waits[:4], (1, 2, 4, 8), strict=True))
    assert waits[4] is None
    gaps = [after.began_at - before.began_at for before, after in itertools.pairwise(calls)]
    assert all(gap >= wait - 0.1 for gap, wait in zip(gaps, waits[:4], strict=True))


@pytest.mark.parametrize("case", FAILS_AT_ONCE, ids=str)
def test_what_cannot_pass_fails_the_debate_at_once(stage: Any, case: Case) -> None:
    at, started = stage
    debate = at.wait_status(started[case.model], "failed")
    assert debate["attempts"] == 1
    assert case.words in debate["last_error"]
    assert SECRET not in debate["last_error"]
    assert debate["argument_count"] == 1 + SPOKEN_BEFORE[case.seat]
    assert len(at.models.calls_of(case.model)) == 1
    [line] = at.log_lines("turn.failed", debate["id"])
    assert (line["kind"], line["wait_seconds"], line["status"]) == (case.kind, None, "failed")


def test_a_rate_limit_is_waited_out_as_long_as_the_provider_asks(stage: Any) -> None:
    at, _ = stage
    at.models.plan("limited", "429", "429")
    seats = {role: {"player": "scripted"} for role in SPOKEN_BEFORE} | {"proposer": {"player": "openai:limited"}}
    debate_id = at.api.create(seats=seats, limits={"max_rounds": 1})["id"]
    wait_until(lambda: at.api.debate(debate_id)["attempts"] > 0, 60, "an attempt has failed")
    assert "openai:limited: the provider asks us to slow down (HTTP 429)." in at.api.debate(debate_id)["last_error"]
    listed = at.api.http.get("/debates").json()["data"]["debates"]
    assert next(each for each in listed if each["id"] == debate_id)["attempts"] > 0
    debate = at.wait_status(debate_id, "completed")
    assert (debate["attempts"], debate["last_error"], debate["argument_count"]) == (0, None, 4)
    first, second, third = (call.began_at for call in at.models.calls_of("limited"))
    assert min(second - first, third - second) >= 2  # Retry-After: 2
    assert [line["kind"] for line in at.log_lines("turn.failed", debate_id)] == ["rate_limit", "rate_limit"]


def test_a_failure_that_passes_leaves_a_whole_debate_and_its_cost(stage: Any) -> None:
    at, _ = stage
    at.models.plan("gpt-4o-mini", "well", "wrong_schema")
    seats = {"proposer": "openai:gpt-4o-mini", "opponent": "scripted", "arbitrator": "openai:gpt-4o-mini"}
    body = {role: {"player": player} for role, player in seats.items()}
    debate_id = at.api.create(seats=body, limits={"max_rounds": 1})["id"]
    debate = at.wait_status(debate_id, "completed")
    transcript = at.api.transcript(debate_id)
    assert [turn["type"] for turn in transcript["arguments"]] == ["CLAIM", "CLAIM", "RULING"]
    assert transcript["arguments"][2]["usage"]["input_tokens"] == 100
    # Three calls were paid for: the answer that could not be used as well.
    assert debate["usage"]["input_tokens"] == 300
    assert debate["usage"]["output_tokens"] == 60


def test_a_provider_whose_client_is_missing_says_what_to_install(stage: Any) -> None:
    at, _ = stage
    seats = {role: {"player": WITHOUT_A_CLIENT} for role in SPOKEN_BEFORE}
    debate = at.wait_status(at.api.create(seats=seats)["id"], "failed")
    # The key is looked at first in some orders; neither is ever tried again.
    assert debate["attempts"] == 1
    assert "-m pip install 'pydantic-ai-slim[groq]'" in debate["last_error"]


def test_a_failed_debate_resumes(stage: Any) -> None:
    at, started = stage
    case = FAILS_AT_ONCE[0]
    debate_id = started[case.model]
    at.wait_status(debate_id, "failed")
    at.models.plan(case.model)
    at.api.http.post(f"/debates/{debate_id}/resume")
    assert at.wait_status(debate_id, "completed")["argument_count"] == 4
