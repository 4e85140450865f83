"""What real processes count and write down of what they do."""

from collections import Counter
from collections.abc import Callable

import pytest
from harness import Place
from model_server import INPUT_TOKENS, OUTPUT_TOKENS, REASONING, SPEECH
from observed import MODEL, STREAMS, Observed, observe

from app.core.debate import Usage
from app.prices import cost_usd


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
    assert count("debate_claims_lost_total") == 1
    each = cost_usd(MODEL, Usage(INPUT_TOKENS, OUTPUT_TOKENS))
    assert count("debate_model_cost_usd_total", player=MODEL) == pytest.approx(5 * (each or 0))


def test_a_worker_says_how_long_turns_wait_and_what_the_sweeper_found(seen: Observed) -> None:
    count = seen.worker
    # Three debates that were created, and two attempts after a failure. A slice that was handed over adds to it.
    assert count("debate_queue_delay_seconds_count") >= 5
    assert 0 <= count("debate_queue_delay_seconds_sum") < 200
    assert count("debate_sweeps_total", kind="debates") >= 1
    assert count("debate_sweeps_total", kind="evaluations") >= 1
    assert count("debate_swept_total", kind="debates") >= 2
    assert count("debate_database_connections_max") == 16
    assert 0 <= count("debate_database_connections_in_use") <= 16


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


def test_every_line_is_json_and_says_when_what_and_how_grave(seen: Observed) -> None:
    assert len(seen.lines) > 20
    for line in seen.lines:
        assert {"timestamp", "level", "logger", "event"} <= line.keys()


def test_every_turn_has_one_line(seen: Observed) -> None:
    stored = [line["turn_id"] for line in seen.lines if line["event"] == "turn.stored"]
    assert Counter(stored) == Counter(seen.turn_ids())


def test_lines_have_the_ids_of_what_they_are_about(seen: Observed) -> None:
    of_turns = [line for line in seen.lines if line["event"].startswith("turn.") and "request_id" not in line]
    assert {line["event"] for line in of_turns} == {"turn.stored", "turn.failed", "turn.cancelled", "turn.dropped"}
    for line in of_turns:
        assert {"task_id", "debate_id", "turn_id", "round", "seat"} <= line.keys(), line
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
    assert [line["words"] for line in seen.lines if line["event"] == "celery.says"] == [
        "worker: Warm shutdown (MainProcess)"
    ]
