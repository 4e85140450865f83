"""What real processes count and write down of what they do."""

from collections import Counter
from collections.abc import Callable
from uuid import UUID

import pytest
from harness import Place
from model_server import INPUT_TOKENS, OUTPUT_TOKENS, REASONING, SPEECH
from observed import CALLERS_TRACE, CELERY_ENDS, MODEL, STREAMS, Observed, observe
from otlp_receiver import Span

from app.core.debate import Usage
from app.models.table import cost_usd
from app.observe.tracing import ids_of
from worker.process import POOL_CONNECTIONS

# The whole life is lived in the first test's set-up; a busy machine takes its time to start three processes.
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def seen(make_place: Callable[[], Place], tmp_path_factory: pytest.TempPathFactory) -> Observed:
    return observe(make_place, tmp_path_factory.mktemp("observed"))


def test_a_worker_counts_turns_attempts_failures_and_cost(seen: Observed) -> None:
    count = seen.worker
    assert count("debate_turns_total", type="CLAIM", player="scripted") == 2
    assert count("debate_turns_total", type="RULING", player="scripted") == 1
    assert count("debate_turns_total", player=MODEL) == 3
    assert count("debate_turn_seconds_count", player=MODEL) == 3
    # Three that went well, one that was stopped; three that went well, and two that did not.
    assert count("debate_turn_attempts_total", provider="scripted") == 4
    assert count("debate_turn_attempts_total", provider="openai") == 5
    assert count("debate_turn_failures_total") == count("debate_turn_failures_total", provider="openai", kind="answer")
    assert count("debate_turn_failures_total") == 2
    assert count("debate_claims_lost_total") == 0, "a stop is nothing that went wrong"
    each = cost_usd(MODEL, Usage(INPUT_TOKENS, OUTPUT_TOKENS))
    assert count("debate_model_cost_usd_total", player=MODEL) == pytest.approx(5 * (each or 0))


def test_a_worker_says_how_long_turns_wait_and_what_the_sweeper_found(seen: Observed) -> None:
    count = seen.worker
    # Three debates that were created, and two attempts after a failure.
    assert count("debate_queue_delay_seconds_count") >= 5
    assert 0 <= count("debate_queue_delay_seconds_sum") < 200
    assert count("debate_sweeps_total") >= 1
    assert count("debate_claims_reclaimed_total") == 0, "no worker has died"
    assert count("debate_database_connections_max") == POOL_CONNECTIONS
    assert 0 <= count("debate_database_connections_in_use") <= POOL_CONNECTIONS


def test_a_worker_counts_what_the_guardrail_said(seen: Observed) -> None:
    count = seen.worker
    assert count("debate_guardrail_verdicts_total", about="contribution", verdict="approved") == 1
    assert count("debate_guardrail_verdicts_total", about="contribution", verdict="rejected") == 1
    settled = [line for line in seen.lines if line["event"] == "guardrail.settled"]
    assert len(settled) == 2
    assert all(line["evaluation_id"] for line in settled)


def test_two_processes_of_an_api_add_up_whichever_is_asked(seen: Observed) -> None:
    for count in seen.while_listening:
        assert count("debate_listeners", kind="stream") == STREAMS
        assert count("debate_listeners", kind="websocket") == 1
        assert count("debate_turns_total", type="MOTION", player="external") == 4
        assert count("debate_turns_total", type="CLAIM", player="external") == 1
        assert count("debate_http_requests_total", method="POST", route="/debates", status="201") == 4
        assert count("debate_database_connections_max") == 2 * 16
        assert count("debate_relay_lag_seconds_count") >= 1
    assert seen.api("debate_listeners") == 0
    assert seen.api("debate_http_requests_total", route="/ws", status="101") == 1
    assert seen.api("debate_http_request_seconds_count", route="/ws") == 0


def test_a_process_that_dies_takes_its_listeners_with_it_and_nothing_that_was_counted(seen: Observed) -> None:
    assert seen.after_a_kill("debate_listeners", kind="stream") == seen.streams_left
    before, after = seen.api.values, seen.after_a_kill.values
    counters = [key for key in before if key[0].endswith(("_total", "_count", "_bucket"))]
    assert counters
    assert [key for key in counters if after[key] < before[key]] == []


def test_an_api_that_ended_has_tidied_up(seen: Observed) -> None:
    assert seen.left_behind == []


def test_every_line_is_json_and_says_when_what_and_how_grave(seen: Observed) -> None:
    assert len(seen.lines) > 20
    for line in seen.lines:
        assert {"timestamp", "level", "logger", "event"} <= line.keys()


def test_every_turn_has_one_line(seen: Observed) -> None:
    stored = [line["turn_id"] for line in seen.lines if line["event"] == "turn.stored"]
    assert Counter(stored) == Counter(seen.turn_ids())


def test_lines_have_the_ids_of_what_they_are_about(seen: Observed) -> None:
    of_turns = [line for line in seen.lines if line["event"].startswith("turn.") and "request_id" not in line]
    assert {line["event"] for line in of_turns} == {"turn.stored", "turn.failed", "turn.cancelled"}
    for line in of_turns:
        assert {"debate_id", "round", "seat"} <= line.keys(), line
    of_requests = [line for line in seen.lines if line["event"] == "request.done"]
    assert of_requests
    for line in of_requests:
        assert line["request_id"]
        assert "<debate_id>" not in line["route"] or line["debate_id"]
    motions = [line for line in seen.lines if line["event"] == "turn.stored" and line["type"] == "MOTION"]
    assert all(line["request_id"] for line in motions)


def test_a_clients_request_id_is_taken_if_it_is_sane(seen: Observed) -> None:
    ids = {line["request_id"] for line in seen.lines if line["event"] == "request.done"}
    assert "my-own-id" in ids
    assert "not a sane id" not in ids


def test_nothing_that_a_model_said_is_in_the_log(seen: Observed) -> None:
    said = [turn["content"] for turn in seen.debates["models"]["arguments"]]
    assert SPEECH in said[0]
    log = "\n".join(seen.log)
    for words in (SPEECH[:30], REASONING[:30], "of course"):
        assert words not in log


def test_the_servers_own_lines_come_through_the_same_pipe(seen: Observed) -> None:
    killed = [line for line in seen.lines if line["logger"] == "gunicorn.error"]
    assert any("SIGKILL" in line["event"] for line in killed)
    assert any(line["logger"].startswith("celery.") for line in seen.lines)
    assert seen.log.count(CELERY_ENDS) == 1


def of_debate(seen: Observed, name: str) -> tuple[str, list[Span]]:
    """Its id, and the spans of its trace."""
    debate_id = seen.debates[name]["debate"]["id"]
    trace_id = f"{ids_of(UUID(debate_id))[0]:032x}"
    return debate_id, [span for span in seen.spans if span.trace_id == trace_id]


def test_a_debate_is_one_trace_from_its_request_to_its_model_calls(seen: Observed) -> None:
    debate_id, spans = of_debate(seen, "models")
    [first] = [span for span in spans if not span.parent_id]
    assert (first.service, first.name, first.attributes["debate.id"]) == ("debate-api", "POST /debates", debate_id)
    by_id = {span.span_id: span for span in spans}
    parents = {(span.name, by_id[span.parent_id].name) for span in spans if span is not first}
    assert parents == {
        ("advance_debate", "POST /debates"),
        ("turn", "advance_debate"),
        ("chat gpt-5-mini", "turn"),
        ("commit", "turn"),
    }
    count = Counter(span.name for span in spans)
    # Five attempts: three turns, and two answers that could not be used, each tried again under a claim of its own.
    assert (count["turn"], count["chat gpt-5-mini"], count["commit"]) == (5, 5, 3)
    assert count["advance_debate"] >= 3
    assert {span.service for span in spans if span is not first} == {"debate-worker"}


def test_spans_have_the_ids_that_the_log_has_and_no_words(seen: Observed) -> None:
    _, spans = of_debate(seen, "models")
    stored = {turn["id"] for turn in seen.debates["models"]["arguments"]}
    turns = [span for span in spans if span.name == "turn"]
    assert stored <= {span.attributes["debate.turn_id"] for span in turns}
    assert [span.attributes.get("debate.failure") for span in turns].count("answer") == 2
    calls = [span for span in spans if span.name.startswith("chat ")]
    assert {span.attributes["gen_ai.usage.input_tokens"] for span in calls} == {INPUT_TOKENS}
    said = str(spans)
    assert SPEECH[:30] not in said
    assert REASONING[:30] not in said


def test_a_callers_own_trace_is_linked_and_other_writes_are_in_the_debates(seen: Observed) -> None:
    _, spans = of_debate(seen, "models")
    assert [span.links for span in spans if not span.parent_id] == [(CALLERS_TRACE,)]
    _, stopped = of_debate(seen, "slow")
    assert {span.name for span in stopped} >= {"POST /debates", "POST /debates/<debate_id>/stop", "turn"}
    _, argued = of_debate(seen, "external")
    assert "POST /debates/<debate_id>/arguments" in {span.name for span in argued}
    assert all(span.ended_ns >= span.began_ns for span in seen.spans)
